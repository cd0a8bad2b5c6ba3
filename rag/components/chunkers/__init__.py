"""Ways to cut a document into chunks, one per file."""
