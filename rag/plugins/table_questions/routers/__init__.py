"""Routers: passages or records."""
