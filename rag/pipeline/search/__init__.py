"""From a question to its passages."""
