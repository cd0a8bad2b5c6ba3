"""What every model here can read."""


def readable(text: str) -> str:
    """The text with lone surrogates replaced one for one, so that offsets stay; tokenizers and HTTP refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")
