"""The files of a folder: which there are, and their bytes."""
