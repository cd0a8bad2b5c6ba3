"""Parsers: one format of files each."""
