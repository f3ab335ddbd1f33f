"""Ramify splits coarse labels into finer ones with as few human answers as possible.

Names are loaded when they are first used, so that ``import ramify`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ramify.version import __version__

if TYPE_CHECKING:
    from ramify.data import Benchmark, Dataset, NameVectors, benchmark
    from ramify.errors import RamifyError
    from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels, Source
    from ramify.learners import (
        LEML,
        ROLE,
        SPLC,
        AllLabels,
        CoarsePrior,
        Constrained,
        EntropyMaximisation,
        Factored,
        FullySupervised,
        Hill,
        LargeLoss,
        NoisyOr,
        OneClass,
        PseudoLabel,
        Refine,
        load,
    )
    from ramify.loop import ActiveLoop, Question, Truth
    from ramify.notebook import Project
    from ramify.readers import read
    from ramify.strategies import (
        BADGE,
        EPIG,
        ExpectedGain,
        Finish,
        LookAhead,
        Random,
        RandomItems,
        TypiClust,
        Uncertainty,
    )
    from ramify.taxonomy import Taxonomy

_HOME = {
    **dict.fromkeys(["Benchmark", "Dataset", "NameVectors", "benchmark"], "ramify.data"),
    **dict.fromkeys(["IRRELEVANT", "RELEVANT", "UNKNOWN", "Labels", "Source"], "ramify.labels"),
    **dict.fromkeys(["LEML", "AllLabels", "CoarsePrior", "Factored", "FullySupervised"], "ramify.learners"),
    **dict.fromkeys(["ROLE", "SPLC", "Constrained", "EntropyMaximisation", "Hill", "LargeLoss"], "ramify.learners"),
    **dict.fromkeys(["NoisyOr", "OneClass", "PseudoLabel", "Refine", "load"], "ramify.learners"),
    **dict.fromkeys(["ActiveLoop", "Question", "Truth"], "ramify.loop"),
    **dict.fromkeys(["BADGE", "EPIG", "ExpectedGain", "Finish", "LookAhead", "Random"], "ramify.strategies"),
    **dict.fromkeys(["RandomItems", "TypiClust", "Uncertainty"], "ramify.strategies"),
    "Project": "ramify.notebook",
    "RamifyError": "ramify.errors",
    "Taxonomy": "ramify.taxonomy",
    "read": "ramify.readers",
}

__all__ = [
    "BADGE",
    "EPIG",
    "IRRELEVANT",
    "LEML",
    "RELEVANT",
    "ROLE",
    "SPLC",
    "UNKNOWN",
    "ActiveLoop",
    "AllLabels",
    "Benchmark",
    "CoarsePrior",
    "Constrained",
    "Dataset",
    "EntropyMaximisation",
    "ExpectedGain",
    "Factored",
    "Finish",
    "FullySupervised",
    "Hill",
    "Labels",
    "LargeLoss",
    "LookAhead",
    "NameVectors",
    "NoisyOr",
    "OneClass",
    "Project",
    "PseudoLabel",
    "Question",
    "RamifyError",
    "Random",
    "RandomItems",
    "Refine",
    "Source",
    "Taxonomy",
    "Truth",
    "TypiClust",
    "Uncertainty",
    "__version__",
    "benchmark",
    "load",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ramify' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
