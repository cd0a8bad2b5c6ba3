"""Guards: defences against instructions in documents, one layer per file."""
