"""Results by their keys: stages, vectors, replies, judgements, spending."""
