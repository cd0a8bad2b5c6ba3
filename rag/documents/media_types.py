"""The media type of a file by its first bytes, whatever its suffix says."""

from pathlib import Path

HEAD = 4096


def media_type(path: Path) -> str:
    """A media type such as `application/pdf`; empty for text, for an unknown format and for a file that cannot be read."""
    import puremagic

    try:
        with path.open("rb") as file:
            return str(puremagic.from_string(file.read(HEAD), mime=True))
    except (OSError, ValueError, puremagic.PureError):
        return ""
