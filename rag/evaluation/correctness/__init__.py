"""Whether an answer is right: by rules where the reference is a value, else by the claims of both."""
