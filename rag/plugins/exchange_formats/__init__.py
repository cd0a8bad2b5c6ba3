"""Formats of other tools for golden questions."""
