"""Generators: answers from contexts."""
