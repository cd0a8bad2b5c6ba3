"""What a model is shown of the turns before a question, one way per file."""
