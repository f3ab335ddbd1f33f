"""What the experiments share: data read once, learners by name with their settings, coarse stages trained once."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ramify import engine
from ramify.data import Benchmark, Dataset, benchmark
from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.labels import Labels
from ramify.learners import LEARNERS, Learner
from ramify.metrics import precision_at_k
from ramify.noise import sample
from ramify.plugins import by_name
from ramify.readers import read
from ramify.readers.formats import path_of

LOOK_EVERY = 1.0  # seconds between two looks at how far the workers are
MANY_WARM = 300  # from so many warm items on, their loss gets more weight beside that of the pool

AS_PRINTED = {
    "warm_weight": 0.0,
    "warm_batch": None,
    "fixed_warm_set": True,
    "reset_pseudo_labels": True,
    "shortest_epoch": 1,
}
"""Algorithms 1 and 2: the warm set, all of it, only judges pseudo-labels, and no answer adds to it; pseudo-labels begin
anew after each query."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "leml-low-rank": ("leml", {"rank": 16}),
    "pseudo-label-literal": ("pseudo-label", {**AS_PRINTED, "average": 0.0, "assignment": "sign"}),
    "pseudo-label-averaged": ("pseudo-label", {**AS_PRINTED, "assignment": "sign"}),
    "pseudo-label-smooth": ("pseudo-label", {"assignment": "smooth"}),
    "refine-shrunk": ("refine", {"shrinkage": 4.0}),
    "refine-nameless": ("refine", {"use_names": False}),
}
"""More names of learners, with other settings than their defaults."""


@dataclass(frozen=True)
class Conditions:
    """Under what conditions learners are compared."""

    exhaustive: bool = True
    """Whether children that the data declare exhaustive are taken to be so; the paper deduces irrelevance only."""
    exact_weights: bool = False
    """Whether every known entry counts alike, as the paper's objectives sum them."""
    averaged: bool = True
    """Whether nets predict by averaged weights, of which the paper does not speak; of pseudo-label its variants say."""
    epochs: int | None = None
    """Epochs of net-trained learners, not their own number."""
    early_stopping: bool = True
    """Whether the best moment on the validation part is kept; if not, the test part is looked at after each epoch."""
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Other settings than a learner's own, such as tuned ones, by its name."""

    def as_json(self) -> dict[str, Any]:
        """What results computed under these conditions are kept with; learners' settings are kept beside them."""
        return {name: value for name, value in asdict(self).items() if name != "chosen"}


OURS, PAPERS = Conditions(), Conditions(exhaustive=False, exact_weights=True, averaged=False)
SETTINGS = {"ours": OURS, "paper": PAPERS}
"""The two settings of every table: with all that is known used, and as the paper's text and equations have it."""


def check_folder(out: Path) -> None:
    """Refuse a file where results shall be kept."""
    if out.exists() and not out.is_dir():
        raise RamifyError(f"{out} is a file: give a folder for the results")
    with disk_troubles(out, "nothing was computed"):
        out.mkdir(parents=True, exist_ok=True)


# -- data --------------------------------------------------------------------------------------------------------------


def data_of(source: str, exhaustive: bool) -> Dataset:
    """The data set of a bundle, a folder or 'scenes', read once in each process."""
    return read_once(_absolute(source), exhaustive)


@lru_cache(maxsize=2)
def read_once(source: str, exhaustive: bool) -> Dataset:
    """The same, by what is found in every folder: an absolute path, or 'scenes'."""
    return read(source, exhaustive=exhaustive)


def _absolute(source: str) -> str:
    return str(Path(source).absolute()) if Path(source).exists() else source


def part_of(source: str, exhaustive: bool, items: int | None, seed: int) -> Dataset:
    """The data set, or so many random items of it, others for each seed.

    >>> len(part_of("scenes:60", True, 20, seed=1)), len(part_of("scenes:60", True, None, seed=1))
    (20, 60)
    """
    data = data_of(source, exhaustive)
    return data if items is None else data.take(np.sort(sample(seed, len(data), items)))


def as_source(source: str, out: Path, taxonomy: str | Path | None = None, features: str | Path | None = None) -> str:
    """What experiments read: the source itself, or a data set that is made of it once and kept in ``out``."""
    path = Path(source)
    ready = path.suffix == ".npz" or (path / "dataset.json").is_file() or not path_of(source).exists()
    if ready and taxonomy is None and features is None:
        return source
    check_folder(out)
    read(source, taxonomy=taxonomy, features=features).save(out / "data")
    return str(out / "data")


def data_with_features(source: str, exhaustive: bool) -> Dataset:
    """The data set, refused where nothing can be learned from it."""
    data = data_of(source, exhaustive)
    if data.features is None:
        raise RamifyError(
            f"{source} has no features, only labels: make some with `ramify embed`, and give them with --features"
        )
    return data


def for_workers(source: str, exhaustive: bool, out: Path) -> str:
    """Where workers read the data, wherever they are: what is drawn on the spot is drawn once, here."""
    if not Path(source).exists():
        data_of(source, exhaustive).save(out / "data")
        source = str(out / "data")
    return _absolute(source)


# -- learners ----------------------------------------------------------------------------------------------------------


def kind_of(name: str, *, without: str | None = None) -> type[Learner]:
    """The class of a learner, of a variant, or of one of your own as ``module:Class``; one may be refused.

    >>> kind_of("refine-shrunk").__name__
    'Refine'
    """
    known = LEARNERS | {variant: LEARNERS[kind] for variant, (kind, _) in VARIANTS.items()}
    return by_name("learner", name, {key: kind for key, kind in known.items() if key != without}, Learner)


def fixed_settings(name: str, conditions: Conditions) -> dict[str, Any]:
    """The settings that a variant's name and the conditions say, and which therefore are not tuned.

    >>> fixed_settings("leml", PAPERS)
    {'warm_weight': None, 'average': 0.0}
    """
    kind = kind_of(name)
    has = kind().get_params(deep=False)
    settings: dict[str, Any] = {"warm_weight": None} if conditions.exact_weights and "warm_weight" in has else {}
    if not conditions.averaged and "epochs" in has and kind.name != "pseudo-label":
        settings["average"] = 0.0
    if conditions.epochs is not None and "epochs" in has:
        settings["epochs"] = conditions.epochs
    return settings | VARIANTS.get(name, (name, {}))[1]


def make_learner(name: str, n_warm: int, seed: int, conditions: Conditions, memory: Path) -> Learner:
    """A learner with the settings it is compared with.

    >>> make_learner("pseudo-label", 16, 3, OURS, Path()).random_state
    3
    """
    learner = kind_of(name)(random_state=seed)
    settings: dict[str, Any] = {}
    if "memory" in learner.get_params(deep=False):
        settings["memory"] = str(memory)
    if learner.name == "pseudo-label" and n_warm >= MANY_WARM:
        settings["warm_weight"] = 5.0
    learner.set_params(**settings | dict(conditions.chosen.get(name, {})) | fixed_settings(name, conditions))
    return learner


def labels_for(name: str, drawn: Benchmark) -> Labels:
    """What a learner may see of a draw: only the upper bound sees everything."""
    return drawn.answers if name == "all-labels" else drawn.train.labels


def precisions(learner: Learner, part: Dataset) -> dict[str, float]:
    """Precision@k on a part of the data, for each k of which there are enough fine concepts."""
    truth, scores = part.labels.states(), learner.predict_proba(part.features)
    return {f"p@{k}": precision_at_k(truth, scores, k) for k in (1, 3, 5) if k <= truth.shape[1]}


def prepare(
    name: str,
    source: str,
    conditions: Conditions,
    memory: Path,
    seeds: Iterable[int],
    how: str,
    failed: Callable[[engine.Failure], None] | None = None,
    items: int | None = None,
) -> None:
    """Put what does not depend on fine labels into ``memory``, where a learner has one: it serves all runs of a seed.

    One learner after another: what they share, the next one finds there.
    """
    if "memory" in kind_of(name)().get_params(deep=False):
        work = partial(_prepare, name, source, conditions, memory.absolute(), items)
        engine.run(work, seeds, how, failed=failed, named=lambda seed: f"{name}, seed {seed}, before any fine label")


def _prepare(name: str, source: str, conditions: Conditions, memory: Path, items: int | None, seed: int) -> None:
    drawn = benchmark(part_of(source, conditions.exhaustive, items, seed), warm=1, seed=seed)
    make_learner(name, 1, seed, conditions, memory).prepare(drawn.train.features, drawn.train.labels)


# -- progress ----------------------------------------------------------------------------------------------------------


@contextmanager
def regularly(report: Callable[[], None]) -> Iterator[None]:
    """Calls ``report`` now, about every second while work goes on, and at the end."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(LOOK_EVERY):
            report()

    report()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
    report()
