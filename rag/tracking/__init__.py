"""MLflow: sweeps as runs, bundles as registered models. The only package that imports mlflow."""
