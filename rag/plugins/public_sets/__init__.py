"""Loaders of public question sets."""
