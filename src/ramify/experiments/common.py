"""What the experiments share: data read once, learners by name with their settings, coarse stages trained once."""

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ramify import engine
from ramify.data import Dataset, benchmark
from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.learners import LEARNERS, Learner
from ramify.plugins import by_name
from ramify.readers import read
from ramify.readers.formats import path_of

MANY_WARM = 300  # from so many warm items on, their loss gets more weight beside that of the pool

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pseudo-label-literal": ("pseudo-label", {"warm_weight": 0.0}),
    "pseudo-label-smooth": ("pseudo-label", {"assignment": "smooth"}),
    "refine-shrunk": ("refine", {"shrinkage": 4.0}),
    "refine-nameless": ("refine", {"use_names": False}),
}
"""More names of learners, with other settings than their defaults."""


def check_folder(out: Path) -> None:
    """Refuse a file where results shall be kept."""
    if out.exists() and not out.is_dir():
        raise RamifyError(f"{out} is a file: give a folder for the results")
    with disk_troubles(out, "nothing was computed"):
        out.mkdir(parents=True, exist_ok=True)


# -- data --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def data_of(source: str, exhaustive: bool) -> Dataset:
    """The data set of a bundle, a folder or 'scenes', read once in each process."""
    return read(source, exhaustive=exhaustive)


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
    """Where workers read the data: what is drawn on the spot is drawn once, here, not by every worker again."""
    if Path(source).exists():
        return source
    data_of(source, exhaustive).save(out / "data")
    return str(out / "data")


# -- learners ----------------------------------------------------------------------------------------------------------


def kind_of(name: str, *, without: str | None = None) -> type[Learner]:
    """The class of a learner, of a variant, or of one of your own as ``module:Class``; one may be refused.

    >>> kind_of("refine-shrunk").__name__
    'Refine'
    """
    known = LEARNERS | {variant: LEARNERS[kind] for variant, (kind, _) in VARIANTS.items()}
    return by_name("learner", name, {key: kind for key, kind in known.items() if key != without}, Learner)


def make_learner(name: str, n_warm: int, seed: int, epochs: int | None, memory: Path) -> Learner:
    """A learner with the settings it is compared with.

    >>> make_learner("pseudo-label", 16, 3, None, Path()).random_state
    3
    """
    kind, parameters = VARIANTS.get(name, (name, {}))
    learner = kind_of(name)(random_state=seed)
    settings: dict[str, Any] = {"epochs": epochs, "memory": str(memory)}
    if kind == "pseudo-label" and n_warm >= MANY_WARM:
        settings["warm_weight"] = 5.0
    has = learner.get_params(deep=False)
    learner.set_params(
        **{key: value for key, value in settings.items() if key in has and value is not None} | parameters
    )
    return learner


def prepare(name: str, source: str, exhaustive: bool, memory: Path, seeds: Iterable[int], how: str) -> None:
    """Put what does not depend on fine labels into ``memory``, where a learner has one: it serves all runs of a seed.

    One learner after another: what they share, the next one finds there.
    """
    if "memory" in make_learner(name, 0, 0, None, memory).get_params(deep=False):
        engine.run(partial(_prepare, name, source, exhaustive, memory), seeds, how)


def _prepare(name: str, source: str, exhaustive: bool, memory: Path, seed: int) -> None:
    drawn = benchmark(data_of(source, exhaustive), warm=1, seed=seed)
    make_learner(name, 1, seed, None, memory).prepare(drawn.train.features, drawn.train.labels)
