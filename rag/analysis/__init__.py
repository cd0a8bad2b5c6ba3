"""Analyses of finished trials: comparisons, gates, lost questions, dataset health, attacks."""
