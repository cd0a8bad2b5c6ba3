"""Plug-ins that come with Assay: what the core does without, registered as the package of a stranger is."""
