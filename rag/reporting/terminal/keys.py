"""A new key."""

from rag.reporting.terminal.output import err, escape, out


def print_key(key: str, entry: str) -> None:
    """A key and its entry, a line each on standard output; what they are for on standard error."""
    err.print("the key, shown this once; who asks sends it as `Authorization: Bearer …`:", style="dim")
    out.print(escape(key), soft_wrap=True)
    err.print("its entry for RAG_API_KEYS, after a comma where there are others:", style="dim")
    out.print(escape(entry), soft_wrap=True)
