"""Ratings of answers → golden questions: drafts, decided one by one, in a file that can always be read."""
