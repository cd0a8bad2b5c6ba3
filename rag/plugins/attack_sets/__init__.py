"""Handbook notes with instructions for the model in them: attacks that measure guards."""
