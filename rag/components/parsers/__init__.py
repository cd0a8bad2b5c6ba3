"""Parsers of files: bytes to Markdown text with blocks, one format per file."""
