"""What everything else is made of: records, roles, errors, texts and models. It imports no other package of ours."""
