"""How a conversation uses again what it found."""
