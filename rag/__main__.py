"""`python -m rag` is `rag`."""

from rag.cli import main

if __name__ == "__main__":
    main()
