"""Questions that follow one another."""
