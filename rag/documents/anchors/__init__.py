"""The places of quotes in parsed documents."""
