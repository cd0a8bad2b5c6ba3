"""Bundles as models in MLflow: logged from code, registered, and promoted if a gate passes."""
