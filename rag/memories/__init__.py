"""Ways to bring earlier turns into a question, one per file."""
