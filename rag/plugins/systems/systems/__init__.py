"""Systems as components: recorded results, and a server."""
