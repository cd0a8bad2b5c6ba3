"""Defences against documents that give orders, one layer per file."""
