"""Golden sets: loaded, checked, split, reviewed."""
