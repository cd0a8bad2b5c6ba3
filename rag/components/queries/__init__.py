"""Rewriters: the texts that are searched for, made from a question and its conversation."""
