"""Approximate indexes of FAISS: a graph of neighbours, and lists of k-means."""
