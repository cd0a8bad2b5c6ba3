"""A bundle that answers questions."""

from mlflow.models import set_model

from rag.plugins.mlflow_registry.agent import BundleAgent

set_model(BundleAgent())
