"""Components for Assay."""
