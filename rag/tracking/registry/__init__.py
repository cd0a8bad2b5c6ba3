"""Bundles as models in MLflow: logged from code, registered, and promoted past a gate."""
