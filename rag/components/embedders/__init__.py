"""Texts to vectors, one model family per file."""
