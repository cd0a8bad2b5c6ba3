"""`python -m rag` is `rag`."""

import os


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is imported."""
    try:
        from rag.cli import main as run

        run()
    except KeyboardInterrupt:
        os._exit(130)


if __name__ == "__main__":
    main()
