"""Stretches of a text, before they become spans of a document."""

Piece = tuple[int, int]
"""Start and end of some characters."""


def trimmed(text: str, start: int, stop: int) -> Piece:
    """[start, stop) without white space at its edges; where nothing is left the end does not lie behind the start."""
    piece = text[start:stop]
    return stop - len(piece.lstrip()), start + len(piece.rstrip())
