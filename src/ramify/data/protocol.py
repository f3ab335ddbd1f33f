"""The benchmark protocol in one place: what a learner may see of a fully known data set, and what it is judged by."""

from dataclasses import dataclass

import numpy as np

from ramify.data.dataset import DEV, TEST, TRAIN, Dataset, as_dataset
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.taxonomy import Index

VALIDATION = 500  # items carved from train where the data have no dev split, at most a tenth of them


@dataclass(frozen=True)
class Benchmark:
    """One draw of the protocol. Pool and warm are rows of ``train``, whose labels hide the pool's fine entries."""

    train: Dataset
    """What a learner may see."""
    warm: Index
    """The rows of ``train`` whose fine labels are known."""
    pool: Index
    """The rows of ``train`` whose fine labels are hidden."""
    answers: Labels
    """The true labels of ``train``: for oracles, recovery and upper bounds, never for a learner."""
    validation: Dataset
    """What the best epoch and settings are chosen on."""
    test: Dataset
    """What results are measured on."""


def benchmark(dataset: Dataset, *, ratio: float | None = None, warm: int | None = None, seed: int = 0) -> Benchmark:
    """Draw pool, warm set, validation and test part: the same for everybody who gives the same seed.

    The size M of the warm set is given as ``warm``, or by the paper's ``ratio`` = log2(M / (M + N)). Larger warm sets
    of one seed contain its smaller ones.

    >>> from ramify.taxonomy import Taxonomy
    >>> truth = Labels.from_matrix(Taxonomy({"animal": ["cat", "dog"]}), [[1, 0], [0, 1]] * 50)
    >>> drawn = benchmark(Dataset(truth), ratio=-3)
    >>> len(drawn.warm), len(drawn.pool), len(drawn.validation), len(drawn.test)
    (9, 63, 8, 20)
    """
    if (ratio is None) == (warm is None):
        raise RamifyError("give the size of the warm set either as ratio, log2(M / (M + N)), or as warm, a number")
    _check_known(as_dataset(dataset))
    split = dataset.split
    if split is None or not (split == TEST).any():
        split = np.full(len(dataset), TRAIN)
        split[np.random.default_rng(0).permutation(len(dataset))[: len(dataset) // 5]] = TEST
    shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(split == TRAIN))
    validation = np.flatnonzero(split == DEV)
    if not len(validation):
        carved = min(VALIDATION, len(shuffled) // 10)
        validation, shuffled = shuffled[:carved], shuffled[carved:]
    if ratio is not None and not ratio <= 0:
        raise RamifyError(f"the ratio log2(M / (M + N)) is at most 0, not {ratio}")
    size = round(2.0**ratio * len(shuffled)) if ratio is not None else warm
    assert size is not None
    if not 0 <= size <= len(shuffled):
        raise RamifyError(f"a warm set of {size} cannot be drawn from {len(shuffled)} training items")
    chosen = np.sort(shuffled)
    warm_rows = np.flatnonzero(np.isin(chosen, shuffled[:size]))
    answers = dataset.labels.take(chosen)
    return Benchmark(
        dataset.take(chosen).with_labels(_hidden(answers, warm_rows)),
        warm_rows,
        np.setdiff1d(np.arange(len(chosen)), warm_rows),
        answers,
        dataset.take(np.sort(validation)),
        dataset.take(np.flatnonzero(split == TEST)),
    )


def _check_known(dataset: Dataset) -> None:
    """Fine labels are what is judged by, and coarse ones are all that a learner may see of the pool."""
    labels, taxonomy = dataset.labels, dataset.labels.taxonomy
    items, concepts = labels.unknown()
    if len(items):
        entry = f"item {dataset.ids[items[0]]}, concept {taxonomy.path(concepts[0])!r}"
        raise RamifyError(f"a benchmark needs fully known labels, and {len(items)} entries are unknown, first {entry}")
    items, places = np.nonzero(labels.states(concepts=taxonomy.roots) == UNKNOWN)
    if len(items):
        entry = f"item {dataset.ids[items[0]]}, concept {taxonomy.names[taxonomy.roots[places[0]]]!r}"
        raise RamifyError(
            f"a benchmark needs coarse labels, and {len(items)} of them are unknown, first {entry}: give them with "
            "Labels(taxonomy, coarse), or declare the concepts exhaustive if no fine one means no coarse one"
        )


def _hidden(truth: Labels, warm: Index) -> Labels:
    """All coarse labels, and everything that is true of the warm items."""
    taxonomy = truth.taxonomy
    labels = Labels(taxonomy, truth.states(concepts=taxonomy.roots))
    finer = np.flatnonzero(taxonomy.parents >= 0)
    states = truth.states(warm, finer)
    rows, columns = np.nonzero(states != UNKNOWN)
    labels.record(warm[rows], finer[columns], states[rows, columns], "imported")
    return labels
