"""Rules that decide which files of a folder become documents."""
