"""Assay: declarative, evaluation-first experiments for retrieval-augmented generation."""

import os

__version__ = "0.1.0"

# Threads of OpenMP that wait by spinning starve each other as soon as anything else runs: measured on two busy cores, MiniLM
# took 288 ms a text that way and 41 ms so. It must be set before torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
