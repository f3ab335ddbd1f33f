"""A project's learner as it is now: the saved one, with all answers given since it was trained."""

import math
from typing import Any

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import LEARNERS, Learner, learner_class, load
from ramify.learners.carried import Carried
from ramify.project.store.models import KeptModel
from ramify.project.store.store import Store
from ramify.project.transfer.names import read_names
from ramify.taxonomy import Index, Taxonomy


def make_learner(name: str, **parameters: Any) -> Learner:
    """A project's learner: always the same seed, so that training again gives the same model.

    >>> make_learner("refine", steps=10).steps
    10
    """
    known = [other for other in LEARNERS if other != "all-labels"]  # which wants labels that nobody has
    if name == "all-labels":
        raise RamifyError(f"there is no learner {name!r} for a project: choose among {', '.join(known)}")
    learner = learner_class(name)(random_state=0)
    wrong = sorted(set(parameters) - set(learner.get_params()))
    if wrong:
        raise RamifyError(f"{name} has no parameter {wrong[0]!r}: it has {', '.join(sorted(learner.get_params()))}")
    defaults = learner.get_params()
    given = {key: _fitting(key, value, defaults[key]) for key, value in parameters.items()}
    return learner_class(name)(**{"random_state": 0, **given})


def _fitting(name: str, value: Any, default: Any) -> Any:
    """A parameter of the kind that its default is of; a list may stand for a tuple, a whole number for any."""
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    kinds: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    alike = isinstance(value, kinds) and isinstance(value, bool) is isinstance(default, bool)
    right = default is None or value is None or alike
    numbers = value if isinstance(value, tuple) else (value,)
    if not right or any(isinstance(number, int | float) and not 0 <= number < math.inf for number in numbers):
        raise RamifyError(f"the parameter {name} cannot be {value!r}: its default is {default!r}")
    return value


def load_kept(store: Store, kept: KeptModel, features: Any, labels: Labels, annotated: Index) -> Learner:
    """The learner of a kept model; where it learns at once, it takes in what changed since it was trained.

    Where the taxonomy was changed since, it goes on as far as it can: see ``Carried``.
    """
    if kept.damage is not None:
        raise RamifyError(kept.damage)
    learner = load(kept.folder / "learner")
    if learner.taxonomy_ != labels.taxonomy:
        learner = _carried(store, learner, features, labels.taxonomy)
    if learner.learns_at_once and learner.taxonomy_ == labels.taxonomy:
        changed = learner.changed_items(labels, annotated)
        if len(changed):
            learner.partial_fit(features, labels, items=changed)
    return learner


def _carried(store: Store, learner: Learner, features: Any, taxonomy: Taxonomy) -> Learner:
    """The same learner for the project's taxonomy; as it is, where the project never had the one that it knows."""
    contents, before = store.contents, learner.taxonomy_
    ids = store.changes.ids_of(before)
    if ids is None or contents.taxonomy != taxonomy:
        return learner
    sources: list[list[int]] = [[] for _ in range(len(taxonomy))]
    for old, stable in enumerate(ids):
        if stable in contents.counts_for:
            sources[contents.counts_for[stable]].append(old)
    if sources == [[n] for n in range(len(before))] and before.form == taxonomy.form:
        learner.taxonomy_ = taxonomy  # only names and descriptions are new
        return learner
    new = any(not of and number < len(taxonomy.leaves) for number, of in enumerate(sources))
    names = read_names(store).vectors if new and learner.uses_names else None
    return Carried(learner=learner, taxonomy=taxonomy, sources=sources, names=names, features=features)


def current_learner(store: Store, labels: Labels) -> Learner:
    """The newest model that is whole, with all answers given since it was trained."""
    damage: RamifyError | None = None
    for kept in store.models.candidates():
        try:
            learner = load_kept(store, kept, store.features(), labels, store.answered_items())
        except RamifyError as error:
            damage = damage or error
            continue
        if learner.taxonomy_ != labels.taxonomy:
            raise RamifyError(f"the taxonomy of {store.folder} has changed: run `ramify train {store.folder}` first")
        return learner
    what = "no model yet" if damage is None else f"no model that is whole ({damage})"
    raise RamifyError(f"{store.folder} has {what}: run `ramify train {store.folder}` first")
