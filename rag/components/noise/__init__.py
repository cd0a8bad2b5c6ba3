"""Ways to find text that is no content, such as page headers, one per file."""
