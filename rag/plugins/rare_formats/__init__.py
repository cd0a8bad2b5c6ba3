"""Parsers of formats that few folders hold."""
