"""A winner as a sealed folder: everything that answers, what it was measured to do, and proof that it still does it."""
