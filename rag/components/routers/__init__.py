"""How a question finds the mechanism that answers it."""
