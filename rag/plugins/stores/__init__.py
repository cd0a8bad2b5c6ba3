"""Vector stores as indexes: Chroma, Qdrant and PostgreSQL with pgvector."""
