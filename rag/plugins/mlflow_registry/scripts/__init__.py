"""Scripts that MLflow runs to load a model: it keeps a copy of one next to the bundle, and no pickle."""
