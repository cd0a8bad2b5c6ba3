"""Generators that run a program."""
