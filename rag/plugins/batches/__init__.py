"""Prompts of a sweep as batches of OpenAI and Anthropic, at half price."""
