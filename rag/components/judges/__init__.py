"""Judges: how far an answer follows from its contexts."""
