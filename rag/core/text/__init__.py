"""Texts by rule: sentences, citations, quotes, refusals, tokens, edits."""
