"""Ways to drop or widen what was ranked before it is read, one per file."""
