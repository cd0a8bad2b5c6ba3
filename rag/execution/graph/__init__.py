"""Trials as a graph of keyed stages: planned, priced and run."""
