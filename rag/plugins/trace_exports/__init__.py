"""Exports of tracing tools: spans, observations and runs."""
