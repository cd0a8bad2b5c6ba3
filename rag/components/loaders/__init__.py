"""Readers of documents and of golden questions, one format per file."""
