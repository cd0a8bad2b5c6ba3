"""What finished trials show: differences, gates, lost questions, health, abstention, attacks."""
