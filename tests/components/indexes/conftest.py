"""Fixtures of vector stores."""

from support.databases import pg, vector_stores

__all__ = ["pg", "vector_stores"]
