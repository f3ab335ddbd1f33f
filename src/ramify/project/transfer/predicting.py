"""Predictions for a project's items or for new ones: at a threshold, or at a wished precision."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.engine import check, stream
from ramify.errors import RamifyError
from ramify.labels import RELEVANT, Labels
from ramify.labels.part import PartLabels
from ramify.labels.store import Store as Cells
from ramify.learners import Learner
from ramify.learners.base import at_once
from ramify.learners.warm import warm_items
from ramify.parcels import travels_by_name
from ramify.progress import Report
from ramify.project.store.store import Store
from ramify.project.transfer.exporting import likeliest
from ramify.project.transfer.features import Progress, drop_drafts
from ramify.project.transfer.importing import prepare
from ramify.project.transfer.learned import current_learner
from ramify.quality.deciding import Blocks, Decided, coarse_known, decide
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT
from ramify.taxonomy import Index, Taxonomy

FEWEST = 20  # completely known items from which a precision is estimated


Task: TypeAlias = tuple[Index, Any, Cells]
"""The numbers of some items, their features (None where they are read from a file), and what is known of them."""


@dataclass
class Found:
    """What was chosen, as far as the predictions were read."""

    least: float = 0.5
    """The probability from which on a label is chosen."""
    labels: int = 0
    """How many labels were chosen of fine concepts."""
    empty: int = 0
    """Items without any."""


@dataclass(frozen=True)
class Predicted:
    """Predictions that are computed while they are read."""

    ids: list[str]
    blocks: Blocks
    found: Found
    left_out: list[str]
    """Items that cannot be read, and why."""
    untested: bool
    """Whether no item is completely known: then nothing says how good the probabilities are."""


@contextmanager
def predicting(
    store: Store,
    source: Any = None,
    *,
    threshold: float | None = None,
    precision: float | None = None,
    top: int | None = None,
    how: str = "serial",
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[Predicted]:
    """Predictions for the project's own items, or for those of a table; how it is read is said as for ``prepare``.

    ``how`` is the engine that embeds and predicts, ``top`` is as for ``predict``.
    """
    check(how)
    if threshold is not None and precision is not None:
        raise RamifyError("give either a threshold or a precision, not both")
    if threshold is not None and not 0 <= threshold <= 1:
        raise RamifyError(f"the threshold is a probability from 0 to 1, not {threshold:g}")
    own = store.labels()
    learner = current_learner(store, own)
    untested, found = not len(warm_items(own)), Found()
    wanted: dict[str, Any] = {"threshold": threshold, "precision": precision, "found": found}
    wanted |= {"top": top, "how": how, "report": progress}
    if source is None:
        blocks = predict(learner, store.features(), own, **wanted)
        yield Predicted(store.all_ids().tolist(), blocks, found, [], untested)
        return
    new = prepare(store, source, new=True, how=how, progress=progress, **reading)
    known = new.items.labels.take(new.chosen)
    blocks = predict(learner, new.features, known, **wanted)
    yield Predicted(new.ids, blocks, found, new.left_out, untested)
    drop_drafts(store, new.drafts)


def predict(
    learner: Learner,
    features: Any,
    labels: Labels,
    *,
    threshold: float | None = None,
    precision: float | None = None,
    found: Found | None = None,
    how: str = "serial",
    top: int | None = None,
    report: Report | None = None,
) -> Blocks:
    """Rows, probabilities and what is chosen, of some items, block by block; ``found`` is told what was chosen.

    What is known of them stays as it is known, 1 or 0, and helps with the rest. Without a threshold a label must be
    more probable than not, or the most probable child where there must be one. ``how`` is the engine; where
    only the ``top`` probabilities of each item are wanted, its workers may leave out others, as -1.
    """
    found = Found() if found is None else found
    taxonomy = labels.taxonomy
    known_above = coarse_known(labels)
    least = MORE_PROBABLE_THAN_NOT if threshold is None else threshold
    if precision is not None:
        least = threshold_for(learner, precision, coarse_known=known_above)
    found.least = least
    # A file travels by its name; of other features each block takes its rows along.
    in_file = travels_by_name(features)

    def tasks() -> Iterator[Task]:
        size = at_once(len(taxonomy))
        for first in range(0, len(labels), size):
            block = np.arange(first, min(first + size, len(labels)))
            yield block, None if in_file else features[block], labels.take(block).cells

    few = None if how == "serial" else top
    fill = threshold is None and precision is None
    work = _Predictor(learner, features if in_file else None, taxonomy, known_above, least, fill, few)
    for block, predicted in stream(work, tasks(), how, lambda task: f"items {task[0][0]} to {task[0][-1]}"):
        dense = (len(block), len(taxonomy.leaves))
        probabilities, chosen = predicted.dense(dense) if isinstance(predicted, Likely) else predicted
        found.labels += int(chosen.sum())
        found.empty += int((~chosen.any(axis=1)).sum())
        yield block, probabilities, chosen
        if report is not None:
            report("Predicting", int(block[-1]) + 1, len(labels))


class Likely(NamedTuple):
    """The probabilities that are worth sending: the highest of each item, and all that are chosen."""

    rows: Index
    concepts: Index
    probabilities: NDArray[np.float32]
    chosen: NDArray[np.bool_]

    @classmethod
    def of(cls, probabilities: NDArray[np.float32], chosen: NDArray[np.bool_], top: int) -> "Likely":
        """Those of a block."""
        wanted = chosen.copy()
        np.put_along_axis(wanted, likeliest(probabilities, top), True, axis=1)
        rows, concepts = np.nonzero(wanted)
        sent = rows, concepts
        return cls(rows.astype(np.int32), concepts.astype(np.int32), probabilities[sent], chosen[sent])

    def dense(self, shape: tuple[int, int]) -> Decided:
        """The block, with -1 where nothing was sent."""
        probabilities, chosen = np.full(shape, -1, np.float32), np.zeros(shape, np.bool_)
        probabilities[self.rows, self.concepts] = self.probabilities
        chosen[self.rows, self.concepts] = self.chosen
        return probabilities, chosen


@dataclass(frozen=True)
class _Predictor:
    """What is computed of a block of items, here or by a worker."""

    learner: Learner
    features: Any
    taxonomy: Taxonomy
    coarse_known: bool
    least: float
    fill: bool
    top: int | None

    def __call__(self, task: Task) -> tuple[Index, Decided | Likely]:
        block, rows, cells = task
        known = PartLabels(self.taxonomy).show(np.arange(len(block)), cells)
        rows = self.features[block] if rows is None else rows
        decided = decide(self.learner, rows, known, coarse_known=self.coarse_known, least=self.least, fill=self.fill)
        return block, decided if self.top is None else Likely.of(*decided, self.top)


def threshold_for(learner: Learner, precision: float, *, coarse_known: bool) -> float:
    """The lowest threshold at which predictions are right so often, by leave-one-out on completely known items.

    So often even less two standard errors (Wilson's bound): few items say little, and it is the luckiest threshold.
    """
    if not 0 < precision <= 1:
        raise RamifyError(f"the precision is a share above 0 and up to 1, not {precision:g}")
    left_out = learner.left_out(coarse_known=coarse_known)
    if left_out is None:
        raise RamifyError(f"{learner.name} cannot estimate its precision from answers: give a threshold, or use refine")
    truth, probabilities = left_out
    if len(truth) < FEWEST:
        raise RamifyError(
            f"only {len(truth)} items are completely known, and a precision needs {FEWEST}: answer all questions about "
            "some more items, or give a threshold"
        )
    order = np.argsort(-probabilities, axis=None)
    count = np.arange(1, len(order) + 1)
    share = np.cumsum((truth == RELEVANT).ravel()[order]) / count
    middle, spread = share + 2 / count, 2 * np.sqrt(share * (1 - share) / count + 1 / count**2)
    safe = (middle - spread) / (1 + 4 / count)
    reached = np.flatnonzero(safe >= precision)
    if not len(reached):
        raise RamifyError(
            f"a precision of {precision:g} cannot be promised from the answers so far, {safe.max():.2f} can: answer "
            "more, or ask for less"
        )
    return float(probabilities.ravel()[order[reached[-1]]])
