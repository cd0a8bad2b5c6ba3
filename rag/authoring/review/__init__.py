"""Rated answers → golden questions: drafts that a person accepts, edits or drops."""
