"""Reports, section by section."""
