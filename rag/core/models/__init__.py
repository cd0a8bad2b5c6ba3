"""Models: files that are pinned and fingerprinted, cross-encoders, chat models inside other components."""
