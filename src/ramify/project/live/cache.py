"""Seen: what a model found of all items once, so that asking and browsing need not run it again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ramify.labels import Labels
from ramify.learners import Learner, Refine
from ramify.learners.base import ROWS
from ramify.learners.training import NetLearner
from ramify.nets import pick_device
from ramify.strategies.evidence import (
    PRIOR_OF_NET,
    PRIOR_OF_REFINE,
    Evidence,
    Floats,
    Looked,
    last_layer,
    leading,
    net_looked,
    refine_looked,
)
from ramify.strategies.select import noise
from ramify.taxonomy import Index

DIRECTIONS, FOR_DIRECTIONS = 64, 2048


@dataclass(frozen=True)
class Seen:
    """Arrays beside a saved model, memory-mapped, a row for each item that it was trained with."""

    phi: NDArray[np.float32]
    """Leading directions of the features that answers speak about: Refine's own, or a net's last layer."""
    coarse: NDArray[np.float32]
    """P(c | x) of the coarse concepts; no columns where the model is not Refine."""
    directions: NDArray[np.float64]
    """From Refine's features to ``phi``; empty for others."""
    predictions: NDArray[np.float16]
    """The probability of every fine concept when the model was trained, given what was known of coarser ones."""

    def __len__(self) -> int:
        return len(self.phi)

    @classmethod
    def load(cls, folder: Path) -> "Seen":
        """What ``write`` wrote."""
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in cls.__dataclass_fields__))

    @classmethod
    def write(cls, learner: Learner, features: Any, labels: Labels, folder: Path) -> "Seen":
        """Run the model over all items, block by block."""
        device = pick_device(learner.device)
        everything = np.arange(features.shape[0])
        some = np.sort(everything[np.argsort(noise(0, everything))[:FOR_DIRECTIONS]])

        def scaled(items: Index | slice) -> torch.Tensor:
            return torch.from_numpy(learner.scaler_.transform(features[items])).to(device)

        directions = torch.empty((0, 0), dtype=torch.float64)
        if isinstance(learner, Refine):
            directions = leading(learner.coarse_.features(scaled(some)), DIRECTIONS)
        elif isinstance(learner, NetLearner):
            directions = leading(last_layer(learner, scaled(some))[0], DIRECTIONS)
        widths = {
            "phi": (directions.shape[1], np.float32),
            "coarse": (len(learner.taxonomy_.roots) if isinstance(learner, Refine) else 0, np.float32),
            "predictions": (len(learner.taxonomy_.leaves), np.float16),
        }
        files = {
            name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, (len(everything), width))
            for name, (width, kind) in widths.items()
        }
        np.save(folder / "directions.npy", directions.double().cpu().numpy())
        for first in range(0, len(everything), ROWS):
            block = slice(first, first + ROWS)
            x = scaled(block)
            if isinstance(learner, Refine):
                coarse, products = learner.coarse_.apply(x, directions.to(x))
                files["coarse"][block], files["phi"][block] = coarse.cpu().numpy(), products.cpu().numpy()
            elif isinstance(learner, NetLearner):
                files["phi"][block] = (last_layer(learner, x)[0] @ directions.to(x)).cpu().numpy()
            files["predictions"][block] = opinions(learner, features[block], labels.take(everything[block]))
        for file in files.values():
            file.flush()
        return cls.load(folder)

    def evidence(self, learner: Learner, labels: Labels) -> Evidence:
        """What the model tells ExpectedGain of items, from these arrays alone."""
        if isinstance(learner, Refine):

            def look(items: Index) -> Looked:
                phi, coarse, given = self.stages(learner, items)
                return refine_looked(learner, labels, items, phi, coarse, given)

            return Evidence(look, PRIOR_OF_REFINE)
        if isinstance(learner, NetLearner):
            return Evidence(
                lambda items: net_looked(
                    labels, items, self.phi[items].astype(np.float64), self.predictions[items].astype(np.float64)
                ),
                PRIOR_OF_NET,
            )
        return blind(labels)

    def stages(self, learner: Refine, items: Index) -> tuple[Floats, torch.Tensor, torch.Tensor]:
        """Features, P(c | x), and what the regressions say given the parent, as far as the leading directions tell."""
        phi = self.phi[items].astype(np.float64)
        weights, biases = learner.fine_.weights, learner.fine_.biases
        given = np.linalg.multi_dot([phi, self.directions.T, weights.T]) + biases  # in the cheapest order
        return phi, torch.from_numpy(self.coarse[items].astype(np.float64)), torch.from_numpy(given)


def opinions(learner: Learner, features: Any, labels: Labels) -> NDArray[np.float32]:
    """How probable each fine entry is, given what is known of coarser concepts where the learner can use it."""
    return learner.opinions(features, labels) if isinstance(learner, Refine) else learner.predict_proba(features)


def blind(labels: Labels) -> Evidence:
    """Evidence of nothing, while there is no model: every group is worth the same, so the seed chooses."""
    fine = len(labels.taxonomy.leaves)

    def look(items: Index) -> Looked:
        return Looked(np.zeros((len(items), 1)), np.ones((len(items), fine)), np.zeros((len(items), fine)))

    return Evidence(look, 1.0)
