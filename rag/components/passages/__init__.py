"""What indexes, embedder and reranker read of a chunk, one choice per file."""
