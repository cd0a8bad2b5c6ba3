"""Small collections in every format."""

from support.collections_written import collection, installed

__all__ = ["collection", "installed"]
