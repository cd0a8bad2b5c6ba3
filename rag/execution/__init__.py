"""Keyed stages: planned, run, stored, ranked."""
