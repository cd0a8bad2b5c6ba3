"""Answers and their passages as JSON values."""
