"""A bundle that answers questions."""

from mlflow.models import set_model

from rag.tracking.registry.agent import BundleAgent

set_model(BundleAgent())
