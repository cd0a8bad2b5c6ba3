"""Indexes whose vectors are in a store."""
