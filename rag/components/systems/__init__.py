"""Systems outside of Assay."""
