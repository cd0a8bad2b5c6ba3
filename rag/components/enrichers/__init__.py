"""How documents become records."""
