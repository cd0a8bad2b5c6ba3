"""Rules of ingestion: which files of a folder become documents, and what of their text is noise."""
