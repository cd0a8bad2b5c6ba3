"""What a question asks for, as lines of a prompt and a text that is searched for."""
