"""What the experiments share: data read once, learners by name with their settings, coarse stages trained once."""

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ramify import engine
from ramify.data import Dataset, benchmark
from ramify.errors import RamifyError
from ramify.learners import LEARNERS, Learner
from ramify.learners.refine import Refine
from ramify.learners.training import NetLearner
from ramify.readers import read

MANY_WARM = 300  # from so many warm items on, their loss gets more weight beside that of the pool

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pseudo-label-literal": ("pseudo-label", {"warm_weight": 0.0}),
    "pseudo-label-smooth": ("pseudo-label", {"assignment": "smooth"}),
    "refine-shrunk": ("refine", {"shrinkage": 4.0}),
}
"""More learners that can be asked for: one with other settings than its defaults."""


def check_choice(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not among the known ones.

    >>> check_choice("learner", "refine", ["leml", "refine"])
    """
    if name not in (known := list(known)):
        raise RamifyError(f"there is no {what} {name!r}: choose among {', '.join(known)}")


def check_folder(out: Path) -> None:
    """Refuse a file where results shall be kept."""
    if out.exists() and not out.is_dir():
        raise RamifyError(f"{out} is a file: give a folder for the results")


# -- data --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def data_of(source: str, exhaustive: bool) -> Dataset:
    """The data set of a bundle, a folder or 'scenes', read once in each process."""
    return read(source, exhaustive=exhaustive)


def data_with_features(source: str, exhaustive: bool) -> Dataset:
    """The data set, refused where nothing can be learned from it."""
    data = data_of(source, exhaustive)
    if data.features is None:
        raise RamifyError(f"{source} has no features, only labels: learners need features")
    return data


def for_workers(source: str, exhaustive: bool, out: Path) -> str:
    """Where workers read the data: what is drawn on the spot is drawn once, here, not by every worker again."""
    if Path(source).exists():
        return source
    data_of(source, exhaustive).save(out / "data")
    return str(out / "data")


# -- learners ----------------------------------------------------------------------------------------------------------


def kind_of(name: str) -> type[Learner]:
    """The class of a learner or of a variant.

    >>> kind_of("refine-shrunk").__name__
    'Refine'
    """
    return LEARNERS[VARIANTS.get(name, (name,))[0]]


def make_learner(name: str, n_warm: int, seed: int, epochs: int | None, memory: Path) -> Learner:
    """A learner with the settings it is compared with.

    >>> make_learner("pseudo-label", 16, 3, None, Path()).random_state
    3
    """
    kind, parameters = VARIANTS.get(name, (name, {}))
    chosen = kind_of(name)
    settings: dict[str, Any] = {"random_state": seed}
    if issubclass(chosen, NetLearner):
        if kind == "pseudo-label" and n_warm >= MANY_WARM:
            settings["warm_weight"] = 5.0
        if epochs is not None:
            settings["epochs"] = epochs
    else:
        settings["memory"] = str(memory)
    return chosen(**settings | parameters)


def train_coarse_stages(source: str, exhaustive: bool, memory: Path, seeds: Iterable[int], how: str) -> None:
    """Put the coarse stage of each seed into ``memory``: it serves every run of that seed, so no two train the same."""
    engine.run(partial(_train_coarse_stage, source, exhaustive, memory), seeds, how)


def _train_coarse_stage(source: str, exhaustive: bool, memory: Path, seed: int) -> None:
    drawn = benchmark(data_of(source, exhaustive), warm=1, seed=seed)
    Refine(random_state=seed, memory=str(memory)).prepare(drawn.train.features, drawn.train.labels)
