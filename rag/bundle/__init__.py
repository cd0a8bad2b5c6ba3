"""Bundles: a trial sealed into a folder that answers by itself, and repeats its measured results."""
