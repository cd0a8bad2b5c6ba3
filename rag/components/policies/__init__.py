"""How often a pipeline looks before it answers."""
