"""What may go wrong with an answer, before a model is asked and after, one check per file."""
