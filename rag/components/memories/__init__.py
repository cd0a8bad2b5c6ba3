"""Memories: what a model sees of the earlier turns."""
