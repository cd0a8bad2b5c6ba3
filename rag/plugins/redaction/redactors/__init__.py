"""Redactors: what is replaced before a document is stored."""
