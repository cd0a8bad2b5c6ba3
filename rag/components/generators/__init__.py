"""Ways to answer from contexts, one per file."""
