"""Learners: from features and partly known labels to a classifier for the fine concepts."""

import json
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.learners.base import FORMAT, Learner
from ramify.learners.coarse_prior import CoarsePrior
from ramify.learners.constrained import Constrained
from ramify.learners.em import EntropyMaximisation
from ramify.learners.factored import Factored
from ramify.learners.fully_supervised import AllLabels, FullySupervised
from ramify.learners.hill import SPLC, Hill
from ramify.learners.large_loss import LargeLoss
from ramify.learners.leml import LEML
from ramify.learners.noisy_or import NoisyOr
from ramify.learners.one_class import OneClass
from ramify.learners.pseudo_label import PseudoLabel
from ramify.learners.refine import Refine
from ramify.learners.role import ROLE
from ramify.plugins import by_name

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        FullySupervised,
        LEML,
        OneClass,
        PseudoLabel,
        CoarsePrior,
        Factored,
        NoisyOr,
        ROLE,
        EntropyMaximisation,
        LargeLoss,
        Hill,
        SPLC,
        Constrained,
        Refine,
        AllLabels,
    )
}

__all__ = [
    "LEARNERS",
    "LEML",
    "ROLE",
    "SPLC",
    "AllLabels",
    "CoarsePrior",
    "Constrained",
    "EntropyMaximisation",
    "Factored",
    "FullySupervised",
    "Hill",
    "LargeLoss",
    "Learner",
    "NoisyOr",
    "OneClass",
    "PseudoLabel",
    "Refine",
    "learner_class",
    "load",
]


def learner_class(name: str) -> type[Learner]:
    """The learner that the command line calls so, or one of your own as ``module:Class``.

    >>> learner_class("refine").__name__
    'Refine'
    """
    return by_name("learner", name, LEARNERS, Learner)


def load(path: str | Path, **parameters: Any) -> Learner:
    """Read a learner that ``save`` wrote; parameters replace those it was saved with (``module`` is never saved)."""
    folder = Path(path)
    try:
        head = json.loads((folder / "learner.json").read_text(encoding="utf-8"))
        if head["format"] != FORMAT:
            raise RamifyError(f"{folder} has the format {head['format']}: this version of Ramify reads {FORMAT}")
        settings = {key: tuple(v) if isinstance(v, list) else v for key, v in head["parameters"].items()}
        return learner_class(head["learner"])(**settings | parameters).restored(head, folder)
    except RamifyError:
        raise
    except Exception as error:  # a missing, cut-off or foreign file raises many kinds
        raise RamifyError(f"{folder} is not a learner that Ramify saved ({error})") from None
