"""Answers of a program that the user names."""
