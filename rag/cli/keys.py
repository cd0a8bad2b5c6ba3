"""The verb that makes keys for a server."""

from rag.cli.app import app
from rag.cli.options import Json


@app.command()
def key(name: str, as_json: Json = False) -> None:
    """Make a key for NAME: print it, once, and the entry of RAG_API_KEYS by which a server knows it."""
    from rag.reporting import terminal
    from rag.reporting.terminal.keys import print_key
    from rag.serve.keys import checked_name, hashed, new_key

    secret = new_key()
    entry = f"{checked_name(name, 'name')}:{hashed(secret)}"
    terminal.print_json({"name": name, "key": secret, "entry": entry}) if as_json else print_key(secret, entry)
