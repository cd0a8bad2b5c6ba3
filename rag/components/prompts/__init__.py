"""Prompts: the layout of a question and its contexts for a model; the words are in conf/prompt."""
