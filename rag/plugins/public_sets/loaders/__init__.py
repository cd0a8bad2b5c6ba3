"""Loaders: documents and golden questions of a set."""
