"""A bundle that retrieves passages."""

from mlflow.models import set_model

from rag.plugins.mlflow_registry.retriever import BundleRetriever

set_model(BundleRetriever())
