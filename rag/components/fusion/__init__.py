"""Ways to make one ranking of several, one per file."""
