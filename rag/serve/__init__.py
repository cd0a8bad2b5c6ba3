"""Sealed bundles over HTTP: an API, a conversation, a page."""
