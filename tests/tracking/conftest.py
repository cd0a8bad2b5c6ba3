"""Fixtures of tracking."""

from support.mlflow_fixtures import server, tables

__all__ = ["server", "tables"]
