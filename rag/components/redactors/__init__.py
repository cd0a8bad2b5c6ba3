"""Redactors: they find secrets and personal data in texts."""
