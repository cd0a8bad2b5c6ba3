"""The use cases, one function each: verbs of the command line and Python programs call the same."""
