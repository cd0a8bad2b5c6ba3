"""What MLflow runs to load a model: it keeps a copy of one of these files beside the bundle, and no pickle."""
