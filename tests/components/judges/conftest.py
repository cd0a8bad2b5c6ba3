"""Judges, and a file of labels."""

from support.judge_fixtures import save_nli, shipped, small_set, tiny_nli, words_only

__all__ = ["save_nli", "shipped", "small_set", "tiny_nli", "words_only"]
