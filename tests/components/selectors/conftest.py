"""A small model of natural language inference for gates."""

from support.judge_fixtures import tiny_nli

__all__ = ["tiny_nli"]
