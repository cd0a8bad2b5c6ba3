"""What the server answers to, one subject per file."""
