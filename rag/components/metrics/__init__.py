"""Metrics of rankings and of answers."""
