"""Redactors: secrets, and personal data by pattern or by presidio."""
