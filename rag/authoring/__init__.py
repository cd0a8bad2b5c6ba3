"""Golden sets made from documents, from ratings and from files of other tools, and reviewed by a person."""
