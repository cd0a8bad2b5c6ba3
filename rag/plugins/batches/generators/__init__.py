"""Generators that send batches."""
