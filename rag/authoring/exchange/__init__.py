"""Golden sets of other tools ↔ the native format."""
