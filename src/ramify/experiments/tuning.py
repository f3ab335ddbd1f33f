"""Tuning as the paper does it: each learner's settings by the validation part, with the same number of trials for all.

A trial fits the learner once, on the first draw of the warm set, and is judged by the mean of P@1, P@3 and P@5 at the
best moment on the validation part; the first trial is the learner as it is. Trials are Optuna's, and on disk one by
one: what was interrupted goes on, and a trial that was killed is run again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ramify import engine
from ramify.data import Benchmark, benchmark
from ramify.errors import RamifyError
from ramify.experiments.common import (
    OURS,
    Conditions,
    check_folder,
    data_of,
    data_with_features,
    fixed_settings,
    for_workers,
    kind_of,
    labels_for,
    make_learner,
    precisions,
    regularly,
)
from ramify.files import disk_troubles
from ramify.learners.base import fingerprint
from ramify.learners.search import SearchSpace

SEED = 0  # the draw that is tuned on
UNTUNED, REASON = "as it is", "reason"  # what is noted of a trial: that it is the learner's own settings; why it failed


@dataclass(frozen=True)
class Chosen:
    """What tuning came to for one learner."""

    learner: str
    """Its name."""
    parameters: Mapping[str, Any]
    """The settings with the best value; none where no trial succeeded."""
    value: float | None
    """The best value on the validation part."""
    untuned: float | None
    """The value of the learner as it is."""
    trials: int
    """How many trials were finished."""
    failures: tuple[str, ...]
    """Why some of them failed, where they did."""


def search_space(name: str, conditions: Conditions) -> SearchSpace:
    """What is tuned of a learner: what it declares, without what its variant or the conditions say.

    >>> list(search_space("pseudo-label-literal", OURS))
    ['lr', 'alpha']
    """
    fixed = fixed_settings(name, conditions)
    return {key: limits for key, limits in kind_of(name).search_space.items() if key not in fixed}


def tune(
    source: str,
    learners: Sequence[str],
    warm: int,
    trials: int,
    out: Path,
    conditions: Conditions = OURS,
    *,
    how: str = "processes",
    report: Callable[[int, int], None] = lambda finished, total: None,
    failed: Callable[[engine.Failure], None] | None = None,
) -> list[Chosen]:
    """The best settings found of every learner that has any to tune, with ``warm`` warm items.

    ``report`` hears about every second how many trials of all learners are finished, and of how many; ``failed`` is as
    ``engine.run`` has it.
    """
    if trials < 1:
        raise RamifyError(f"{trials} trials: give at least 1")
    _optuna()  # before anything is computed
    check_folder(out)
    data = data_with_features(source, conditions.exhaustive)
    identity = fingerprint(data.features, data.labels, data.split, warm, repr(conditions.as_json()))
    source = for_workers(source, conditions.exhaustive, out)
    todo = [name for name in learners if search_space(name, conditions)]
    paths = {name: out.absolute() / _file(name, warm, conditions, identity) for name in todo}
    work = partial(_tune_one, source, warm, trials, paths, conditions)
    with (
        disk_troubles(out, "the finished trials are kept"),
        regularly(lambda: report(sum(_finished(*item) for item in paths.items()), trials * len(todo))),
    ):
        return engine.run(work, todo, how, failed=failed, named="the trials of {}".format)


def tuned(conditions: Conditions, chosen: Sequence[Chosen]) -> Conditions:
    """The same conditions with the chosen settings.

    >>> best = Chosen("leml", {"lr": 0.01}, 0.5, 0.4, 20, ())
    >>> tuned(OURS, [best]).chosen
    {'leml': {'lr': 0.01}}
    """
    parameters = {best.learner: dict(best.parameters) for best in chosen}
    return replace(conditions, chosen={**conditions.chosen, **parameters})


# -- inside ------------------------------------------------------------------------------------------------------------


def _file(name: str, warm: int, conditions: Conditions, data: str) -> str:
    """Where the trials of a learner are kept: of other data, or of a learner that is otherwise set, elsewhere."""
    own = make_learner(name, warm, SEED, conditions, Path()).get_params(deep=False)
    return f"{name.replace(':', '.')}-{fingerprint(data, repr(sorted(own.items(), key=str)))[:16]}.jsonl"


def _tune_one(
    source: str, warm: int, trials: int, paths: Mapping[str, Path], conditions: Conditions, name: str
) -> Chosen:
    drawn = benchmark(data_of(source, conditions.exhaustive), warm=warm, seed=SEED)
    if not make_learner(name, warm, SEED, conditions, Path()).can_begin(labels_for(name, drawn)):
        return Chosen(name, {}, None, None, 0, ("it cannot begin with so few fine labels",))
    return _search(drawn, name, trials, paths[name], conditions)


def _search(drawn: Benchmark, name: str, trials: int, path: Path, conditions: Conditions) -> Chosen:
    optuna, study = _optuna(), _study(name, path)
    space = search_space(name, conditions)
    own = make_learner(name, len(drawn.warm), SEED, conditions, path.parent).get_params(deep=False)
    states = optuna.trial.TrialState
    for killed in study.get_trials(states=(states.RUNNING,)):
        study.tell(killed.number, state=states.FAIL)  # without a reason of its own: it is run again, and counts then
        study.enqueue_trial(killed.params, user_attrs=killed.user_attrs)
    if not study.trials:
        as_it_is = {key: own[key] for key, limits in space.items() if own[key] in limits}
        study.enqueue_trial(as_it_is, user_attrs={UNTUNED: True})
    while (done := _count(study)) < trials:
        study.sampler = optuna.samplers.TPESampler(seed=done)  # each trial follows from those before, however many runs
        trial = study.ask()
        parameters = {key: limits.suggest(trial, key) for key, limits in space.items()}
        try:
            value = _value(drawn, name, conditions, parameters, path.parent)
        except (RamifyError, RuntimeError) as error:
            trial.set_user_attr(REASON, str(error))
            study.tell(trial, state=states.FAIL)
        else:
            study.tell(trial, value)
    return _chosen(name, study)


def _study(name: str, path: Path) -> Any:
    return _optuna().create_study(storage=_storage(path), study_name=name, direction="maximize", load_if_exists=True)


def _storage(path: Path) -> Any:
    storages = _optuna().storages
    return storages.JournalStorage(storages.journal.JournalFileBackend(str(path)))


def _count(study: Any) -> int:
    """Finished trials, also those that failed for a reason of their own: the same budget for all."""
    trials = study.get_trials(deepcopy=False)
    return sum(trial.state.name == "COMPLETE" or REASON in trial.user_attrs for trial in trials)


def _finished(name: str, path: Path) -> int:
    """How many trials are on disk; only read, as a worker may be writing."""
    if not path.exists():
        return 0
    try:
        return _count(_optuna().load_study(study_name=name, storage=_storage(path)))
    except KeyError:  # the file is there, the study is about to be
        return 0


def _chosen(name: str, study: Any) -> Chosen:
    states = _optuna().trial.TrialState
    complete = study.get_trials(states=(states.COMPLETE,))
    failed = [trial for trial in study.get_trials(states=(states.FAIL,)) if REASON in trial.user_attrs]
    best = max(complete, key=lambda trial: trial.value, default=None)
    first = next((trial.value for trial in complete if UNTUNED in trial.user_attrs), None)
    return Chosen(
        name,
        best.params if best else {},
        best.value if best else None,
        first,
        len(complete) + len(failed),
        tuple(dict.fromkeys(trial.user_attrs[REASON] for trial in failed)),
    )


def _value(drawn: Benchmark, name: str, conditions: Conditions, parameters: Mapping[str, Any], memory: Path) -> float:
    """How good a learner with these settings becomes on the validation part."""
    learner = make_learner(name, len(drawn.warm), SEED, replace(conditions, chosen={name: parameters}), memory)
    names = drawn.train.name_vectors
    learner.fit(drawn.train.features, labels_for(name, drawn), names=names, validation=drawn.validation)
    return float(np.mean(list(precisions(learner, drawn.validation).values())))


def _optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError:
        raise RamifyError("tuning needs Optuna: install ramify[tune]") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
