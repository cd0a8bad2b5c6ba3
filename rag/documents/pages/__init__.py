"""Lines with places on pages → blocks in reading order → Markdown."""
