"""Models of Amazon Bedrock, Vertex AI, Azure and others, through LiteLLM."""
