"""From passages to a request for a model, and from its reply to an answer."""
