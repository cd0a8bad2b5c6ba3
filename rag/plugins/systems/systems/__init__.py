"""Systems as components: recorded results, a server, a Python function."""
