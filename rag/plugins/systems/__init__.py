"""Systems that run already, as trials."""
