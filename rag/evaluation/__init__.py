"""Gold, rankings and answers → scores per question, with their statistics."""
