"""Short contexts of facts, constraints and open issues, made of passages."""
