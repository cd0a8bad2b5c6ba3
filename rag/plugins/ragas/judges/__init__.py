"""Judges: how far an answer follows from passages."""
