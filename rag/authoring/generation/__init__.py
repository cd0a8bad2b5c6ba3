"""Documents → proposed questions, by rules and by models → those that pass the filters."""
