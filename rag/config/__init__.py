"""YAML → trials → objects. The only package that imports Hydra and OmegaConf, and the place where trust is checked."""
