"""Scores → intervals, differences and p-values. Pure arithmetic."""
