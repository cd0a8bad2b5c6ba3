"""Measures of rankings and of answers, one per file."""
