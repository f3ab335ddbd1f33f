"""Data: ids, features and labels together, the files they live in, and the benchmark protocol."""

from ramify.data.dataset import Dataset, as_dataset
from ramify.data.name_vectors import NameVectors
from ramify.data.protocol import Benchmark, benchmark

__all__ = ["Benchmark", "Dataset", "NameVectors", "as_dataset", "benchmark"]
