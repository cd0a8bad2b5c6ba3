"""Ways to lay out a question and its contexts for a model, one per file; the words stand in conf/prompt."""
