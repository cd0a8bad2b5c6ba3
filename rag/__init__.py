"""Assay: declarative, evaluation-first experiments for retrieval-augmented generation."""

__version__ = "0.1.0"
