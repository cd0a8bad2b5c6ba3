"""Rules for texts: sentences, citations, quotes, refusals, tokens, edits."""
