"""A sweep: leaderboard, recommendation, holdout, ablations."""
