"""Ways to find chunks for a question, one engine per file."""
