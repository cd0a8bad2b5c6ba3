"""An answer as it comes: a sign of life until its first piece is there, then the pieces."""

from types import TracebackType

from rag.terminal.output import err, stream


class Waiting:
    """Shows that something is being waited for, on standard error and on terminals only, until it hears something."""

    def __init__(self, what: str = "…") -> None:
        self.heard = ""
        self._status = err.status(f"[dim]{what}[/dim]", spinner="dots")

    def __enter__(self) -> "Waiting":
        self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._status.stop()

    def __call__(self, piece: str) -> None:
        """Print a piece of an answer."""
        if piece:
            self._status.stop()
            self.heard += piece
            stream(piece)
