"""Generators that ask LiteLLM."""
