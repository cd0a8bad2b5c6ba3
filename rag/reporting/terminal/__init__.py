"""The terminal: tables on standard output, progress on standard error."""
