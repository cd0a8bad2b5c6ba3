"""Texts without values that must not be stored, and without noise."""
