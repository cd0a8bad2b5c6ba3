"""From files to documents: which files, their texts, and the places of quotes in them."""
