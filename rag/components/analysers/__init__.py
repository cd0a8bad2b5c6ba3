"""Analysers: the terms of texts for word indexes."""
