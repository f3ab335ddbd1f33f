"""Predictions for a project's items or for new ones: by thresholds, or at a precision or recall that is promised."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.engine import check, stream
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.labels.part import PartLabels
from ramify.labels.store import Store as Cells
from ramify.learners import Learner
from ramify.learners.base import at_once
from ramify.learners.warm import warm_items
from ramify.parcels import travels_by_name
from ramify.progress import Report
from ramify.project.store.store import Item, Store
from ramify.project.transfer.exporting import likeliest
from ramify.project.transfer.features import Progress, drop_drafts, image_folder
from ramify.project.transfer.importing import prepare
from ramify.project.transfer.learned import current_learner
from ramify.project.transfer.measuring import audit_of, no_left_out
from ramify.quality.deciding import Blocks, Decided, decide, has_coarse
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT
from ramify.quality.promise import Kind, Promise, promise
from ramify.quality.thresholds import left_out_answers, thresholds_by
from ramify.taxonomy import Index, Taxonomy

Task: TypeAlias = tuple[Index, Any, Cells]
"""The numbers of some items, their features (None where they are read from a file), and what is known of them."""


@dataclass(frozen=True)
class Rule:
    """How labels are chosen."""

    least: ArrayLike = MORE_PROBABLE_THAN_NOT
    """The probability from which on a label is chosen, one for all or one for each fine concept."""
    fill: bool = False
    """Whether a child is chosen where one of them must be relevant, and none is probable enough."""
    promises: tuple[Promise, ...] = ()
    trade: "Trade | None" = None
    """What was given for F1, where thresholds are those of the best one."""


class Trade(NamedTuple):
    """Of answers left out one by one: which share of labels is right, and which share of what is relevant is found."""

    right: float
    found: float
    right_at_half: float
    """With one half as the threshold of all."""
    found_at_half: float


@dataclass
class Found:
    """What was chosen, as far as the predictions were read."""

    labels: int = 0
    """How many labels were chosen of fine concepts."""
    predicted: int = 0
    """How many of them were unknown."""
    empty: int = 0
    """Items without any."""


@dataclass(frozen=True)
class Predicted:
    """Predictions that are computed while they are read."""

    ids: list[str]
    shown: Callable[[Index], list[Item]]
    """The items of some numbers, with what people see of them."""
    blocks: Blocks
    rule: Rule
    found: Found
    left_out: list[str]
    """Items that cannot be read, and why."""
    untested: bool
    """Whether no item is completely known: then nothing says how good the probabilities are."""
    images: str = ""
    """The name of the folder that the pictures lie in."""


@contextmanager
def predicting(
    store: Store,
    source: Any = None,
    *,
    threshold: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
    top: int | None = None,
    how: str = "serial",
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[Predicted]:
    """Predictions for the project's own items, or for those of a table; how it is read is said as for ``prepare``.

    ``how`` is the engine that embeds and predicts, ``top`` is as for ``predict``.
    """
    check(how)
    if sum(wish is not None for wish in (threshold, precision, recall)) > 1:
        raise RamifyError("give either a threshold, a precision or a recall, not several")
    if threshold is not None and not 0 <= threshold <= 1:
        raise RamifyError(f"the threshold is a probability from 0 to 1, not {threshold:g}")
    own = store.labels()
    learner = current_learner(store, own)
    new = None if source is None else prepare(store, source, new=True, how=how, progress=progress, **reading)
    labels = own if new is None else new.items.labels.take(new.chosen)
    found = Found()
    if threshold is not None:
        rule = Rule(threshold)
    elif precision is not None or recall is not None:
        rule = _promised(store, learner, own, labels, precision, recall)
    else:
        rule = _of_best_f1(learner, own, store.imported())
    features = store.features() if new is None else new.features
    blocks = predict(learner, features, labels, rule, found, top=top, how=how, report=progress)
    ids, left_out = (store.all_ids().tolist(), []) if new is None else (new.ids, new.left_out)
    shown = store.items if new is None else new.shown
    images = image_folder(store) if new is None else new.images
    untested = not len(warm_items(own))
    yield Predicted(ids, shown, blocks, rule, found, left_out, untested, "" if images is None else images.name)
    if new is not None:
        drop_drafts(store, new.drafts)


def predict(
    learner: Learner,
    features: Any,
    labels: Labels,
    rule: Rule | None = None,
    found: Found | None = None,
    *,
    how: str = "serial",
    top: int | None = None,
    report: Report | None = None,
) -> Blocks:
    """Rows, probabilities and what is chosen, of some items, block by block; ``found`` is told what was chosen.

    What is known of them stays as it is known, 1 or 0, and helps with the rest. ``how`` is the engine; where only the
    ``top`` probabilities of each item are wanted, its workers may leave out others, as -1.
    """
    rule, found, taxonomy = rule or Rule(fill=True), found or Found(), labels.taxonomy
    # A file travels by its name; of other features each block takes its rows along.
    in_file = travels_by_name(features)

    def tasks() -> Iterator[Task]:
        size = at_once(len(taxonomy))
        for first in range(0, len(labels), size):
            block = np.arange(first, min(first + size, len(labels)))
            yield block, None if in_file else features[block], labels.take(block).cells

    few = None if how == "serial" else top
    work = _Predictor(learner, features if in_file else None, taxonomy, has_coarse(labels), rule, few)
    for block, likely, predicted in stream(work, tasks(), how, lambda task: f"items {task[0][0]} to {task[0][-1]}"):
        probabilities, chosen = likely.dense((len(block), len(taxonomy.leaves)))
        found.labels += int(chosen.sum())
        found.predicted += predicted
        found.empty += int((~chosen.any(axis=1)).sum())
        yield block, probabilities, chosen
        if report is not None:
            report("Predicting", int(block[-1]) + 1, len(labels))


class Dense(NamedTuple):
    """The probabilities of a block, and what is chosen."""

    probabilities: NDArray[np.float32]
    chosen: NDArray[np.bool_]

    def dense(self, shape: tuple[int, int]) -> Decided:
        """As they are."""
        return self.probabilities, self.chosen


class Likely(NamedTuple):
    """What of it is worth sending: the highest probabilities of each item, and all that are chosen."""

    rows: Index
    concepts: Index
    probabilities: NDArray[np.float32]
    chosen: NDArray[np.bool_]

    @classmethod
    def of(cls, block: Dense, top: int) -> "Likely":
        """Those of a block."""
        wanted = block.chosen.copy()
        np.put_along_axis(wanted, likeliest(block.probabilities, top), True, axis=1)
        rows, concepts = np.nonzero(wanted)
        p, chosen = block.probabilities[rows, concepts], block.chosen[rows, concepts]
        return cls(rows.astype(np.int32), concepts.astype(np.int32), p, chosen)

    def dense(self, shape: tuple[int, int]) -> Decided:
        """The block, with -1 where nothing was sent."""
        probabilities, chosen = np.full(shape, -1, np.float32), np.zeros(shape, np.bool_)
        probabilities[self.rows, self.concepts], chosen[self.rows, self.concepts] = self.probabilities, self.chosen
        return probabilities, chosen


@dataclass(frozen=True)
class _Predictor:
    """What is computed of a block of items, here or by a worker."""

    learner: Learner
    features: Any
    taxonomy: Taxonomy
    coarse_known: bool
    rule: Rule
    top: int | None

    def __call__(self, task: Task) -> tuple[Index, Dense | Likely, int]:
        """Its numbers, what is predicted, and how many of the chosen labels were unknown."""
        block, rows, cells = task
        known = PartLabels(self.taxonomy).show(np.arange(len(block)), cells)
        rows = self.features[block] if rows is None else rows
        rule = self.rule
        decided = decide(self.learner, rows, known, coarse_known=self.coarse_known, least=rule.least, fill=rule.fill)
        whole = Dense(*decided)
        predicted = int((whole.chosen & (known.states() < 0)).sum())
        return block, whole if self.top is None else Likely.of(whole, self.top), predicted


def _of_best_f1(learner: Learner, own: Labels, imported: Labels) -> Rule:
    """The rule by which labels are chosen where nothing else is wished, and what it trades for what."""
    seen, count = left_out_answers(learner, own, imported), len(own.taxonomy.leaves)
    least, half = thresholds_by(seen, count), np.full(count, MORE_PROBABLE_THAN_NOT)
    if seen is None or (least == half).all():
        return Rule(least, fill=True)
    return Rule(least, fill=True, trade=Trade(*seen.right_and_found(least), *seen.right_and_found(half)))


def _promised(
    store: Store, learner: Learner, own: Labels, labels: Labels, precision: float | None, recall: float | None
) -> Rule:
    """The rule by which predicted labels are right, or found, as often as wished; refused where there is none."""
    kind: Kind = "precision" if precision is not None else "recall"
    if learner.stands_in:
        raise RamifyError(
            f"the taxonomy of {store.folder} was changed since its model was trained, so no {kind} can be promised: "
            f"run `ramify train {store.folder}` first"
        )
    target = precision if precision is not None else recall
    assert target is not None
    if not 0 < target < 1:
        raise RamifyError(f"a {kind} that can be promised is a share above 0 and below 1, not {target:g}")
    if has_coarse(own) and not has_coarse(labels):
        raise RamifyError(
            f"a {kind} can only be promised for items whose coarse labels are known, as those of the audit are: give "
            "them in the table, or give a threshold"
        )
    found = audit_of(store, learner, own, store.imported(), MORE_PROBABLE_THAN_NOT, coarse_known=has_coarse(own))
    if found is None:
        raise no_left_out(learner)
    promises = promise(found, kind, target)
    least = np.full(len(own.taxonomy.leaves), np.inf)
    for part in promises:
        if part.threshold is not None:
            least[part.concepts] = part.threshold
    if np.isinf(least).all():
        first = max(promises, key=lambda part: len(part.concepts))
        raise RamifyError(f"a {kind} of {target:g} cannot be promised yet: {what_it_takes(first)}")
    return Rule(least, promises=tuple(promises))


def what_it_takes(part: Promise) -> str:
    """Why something cannot be promised, and what would help.

    >>> from ramify.quality.intervals import Share
    >>> what_it_takes(Promise(np.arange(2), None, Share(0.9, 20.0), 40))
    'it was 0.90 at best in the audit, of 20 labels; about 40 more audit answers would do'
    """
    if not part.share.size:
        return "the audit has no answer to tell it by: go on answering, some of the questions are drawn for it"
    seen = f"it was {part.share.value:.2f} at best in the audit, of {part.share.size:.0f} labels"
    if part.more is None:
        return f"{seen}; other answers must teach the model first"
    return f"{seen}; about {part.more} more audit answer{'s' * (part.more > 1)} would do"


def what_is_traded(trade: Trade) -> str:
    """What thresholds of the best F1 give for what.

    >>> print(what_is_traded(Trade(0.55, 0.71, 0.86, 0.42)))
    Labels are chosen for the best F1: of the answers, each left out, 0.71 of what is relevant is found so, and 0.55 of
    the labels are right. With --threshold 0.5 it would be 0.42 and 0.86; --precision promises a share.
    """
    return (
        f"Labels are chosen for the best F1: of the answers, each left out, {trade.found:.2f} of what is relevant is "
        f"found so, and {trade.right:.2f} of\nthe labels are right. With --threshold 0.5 it would be "
        f"{trade.found_at_half:.2f} and {trade.right_at_half:.2f}; --precision promises a share."
    )
