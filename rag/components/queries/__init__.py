"""What is searched for on behalf of a question in a conversation, one way per file."""
