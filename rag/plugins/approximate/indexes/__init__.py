"""Indexes that compare a question with some of the vectors."""
