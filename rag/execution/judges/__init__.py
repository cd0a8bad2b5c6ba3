"""Judges of answers: labels of people, calibration cards, how far each judge can be trusted."""
