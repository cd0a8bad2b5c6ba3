"""How records are joined with an authoritative table."""
