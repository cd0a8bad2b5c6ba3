"""The replies of a system as a generator."""
