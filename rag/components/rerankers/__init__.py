"""Ways to score candidates a second time, one per file."""
