"""Routers that answer questions from records, by rules and by a chat model."""
