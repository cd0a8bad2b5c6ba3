"""Ways to say how far an answer follows from its contexts, one per file."""
