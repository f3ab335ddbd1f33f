"""What a net tells of items by its last linear layer: the inputs of that layer, and its predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ramify.labels import Labels
from ramify.learners.cache import Cache, ToKeep
from ramify.learners.evidence import FOR_DIRECTIONS, Evidence, Looks, doubles, leading, looks_by_predictions
from ramify.learners.inner import with_inner
from ramify.nets import inputs_of
from ramify.noise import sample as draw
from ramify.taxonomy import Index, Taxonomy

PRIOR_VARIANCE = 100.0  # of what is known of a concept before its first answer
KEPT_DIRECTIONS = 64  # of the layer's inputs, in a cache


@dataclass(frozen=True)
class LastLayer:
    """The last linear layer of a net that some items go through."""

    layer: nn.Module
    inputs: Callable[[Index], Tensor]
    """What the net is given of some items."""
    probabilities: Callable[[Tensor], Tensor]
    """Of the fine concepts, by the whole net."""
    taxonomy: Taxonomy

    def evidence(self, labels: Labels, sample: Index, directions: int, cache: Cache | None) -> Evidence:
        """As ``Learner.evidence`` has it."""
        if cache is not None:
            return Evidence(
                lambda items: looks_by_predictions(
                    labels, items, cache["phi"][items][:, :directions], cache["predictions"][items]
                ),
                PRIOR_VARIANCE,
            )
        columns = self._leading(sample, directions)

        def look(items: Index) -> Looks:
            phi, p = self._seen(items)
            return looks_by_predictions(labels, items, doubles(phi @ columns), with_inner(doubles(p), self.taxonomy))

        return Evidence(look, PRIOR_VARIANCE)

    def to_cache(self, count: int) -> ToKeep:
        """The inputs of the layer along their leading directions, and predictions, of so many items."""
        columns = self._leading(np.sort(draw(0, count, FOR_DIRECTIONS)), KEPT_DIRECTIONS)

        def rows(items: Index) -> dict[str, NDArray[Any]]:
            phi, fine = self._seen(items)
            p = with_inner(fine.cpu().numpy(), self.taxonomy)
            return {"phi": (phi @ columns).float().cpu().numpy(), "predictions": p.astype(np.float16)}

        return ToKeep({"directions": doubles(columns)}, rows)

    def _leading(self, sample: Index, directions: int) -> Tensor:
        return leading(self._seen(sample[:FOR_DIRECTIONS])[0], directions)

    def _seen(self, items: Index) -> tuple[Tensor, Tensor]:
        """The inputs of the layer, and the net's predictions."""
        with torch.no_grad(), inputs_of(self.layer) as seen:
            p = self.probabilities(self.inputs(items))
        return seen[-1].flatten(1), p
