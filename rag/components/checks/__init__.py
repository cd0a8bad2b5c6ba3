"""Checks of contexts, before a model is asked, and of its replies."""
