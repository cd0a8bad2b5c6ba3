"""What a text says that can be compared: numbers, dates, names and negations, with the same result for every reader."""
