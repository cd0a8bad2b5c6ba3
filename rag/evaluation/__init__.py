"""Gold against rankings and answers: what metrics read, and the scores."""
