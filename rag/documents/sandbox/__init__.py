"""Parsers in confined processes."""
