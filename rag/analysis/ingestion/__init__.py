"""What a folder gives as a corpus: manifest, coverage, duplicates, and proposals of rules."""
