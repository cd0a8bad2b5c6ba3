"""Judge and metrics of ragas."""
