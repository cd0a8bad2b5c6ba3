"""Golden sets: loaded, checked, split."""
