"""Secrets in texts: keys, passwords and tokens, found by their form or by the name before them."""
