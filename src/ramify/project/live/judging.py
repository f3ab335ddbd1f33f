"""Judging: how good a project's labels are now, noted with the project, so that it is there without a model."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import Learner
from ramify.project.live import shapes
from ramify.project.live.status import NOTED
from ramify.project.store.store import Store
from ramify.project.transfer.learned import current_learner
from ramify.project.transfer.measuring import (
    Opinions,
    audit_of,
    count_labels,
    opinions_of,
)
from ramify.quality import FEWEST
from ramify.quality.deciding import has_coarse
from ramify.quality.estimate import Quality, quality
from ramify.quality.intervals import Interval
from ramify.quality.stopping import active_seconds, advise
from ramify.quality.thresholds import thresholds_of

WISHED = 0.95  # the precision by which concepts are sorted


def judge(store: Store, learner: Learner, labels: Labels, opinions: Opinions) -> shapes.Quality | None:
    """Estimate everything, and note it; None where nothing was drawn yet or the learner cannot be judged."""
    imported = store.imported()
    least = thresholds_of(learner, labels, imported)
    audit = audit_of(store, learner, labels, imported, least, coarse_known=has_coarse(labels))
    if audit is None or not audit.draws:
        return None
    counts = count_labels(labels, opinions, least)
    taxonomy, id_of = labels.taxonomy, store.id_of
    every = quality(audit, counts)
    single = [quality(audit, counts, [leaf]) for leaf in taxonomy.leaves]
    alphas = store.consensus.alphas()
    answers, seconds = store.count_answers(), spent(store)
    curve = [(int(p["answers"]), float(p["estimate"]["f1"])) for p in store.curve() if "f1" in p["estimate"]]
    if every.f1 is not None and every.draws >= FEWEST:
        point = {"f1": every.f1.value, "f1_low": every.f1.low, "f1_high": every.f1.high, "draws": every.draws}
        if not curve or curve[-1][0] != answers:
            store.add_curve_point(answers, {**learner.estimate(), **point})
            curve.append((answers, every.f1.value))
    paths = [taxonomy.path(leaf) for leaf in taxonomy.leaves]
    advice = advise(curve, every.draws, seconds, *_sorted(single, paths), wished=WISHED)
    found = shapes.Quality(
        at=time.time(),
        answers=answers,
        all=shapes.Figures(**_figures(every)),
        concepts=[
            shapes.ConceptFigures(
                concept=int(id_of[leaf]), path=path, agreement=alphas.get(int(id_of[leaf])), **_figures(figures)
            )
            for leaf, path, figures in zip(taxonomy.leaves, paths, single, strict=True)
        ],
        seconds=seconds,
        advice=shapes.Advised(kind=advice.kind, said=advice.said, gain=_bounds(advice.gain), minutes=advice.minutes),
    )
    store.set_setting(NOTED, found.model_dump())
    return found


def measure(store: Store) -> shapes.Quality:
    """How good the labels of a project are that nobody serves here, computed now."""
    labels = store.labels()
    learner = current_learner(store, labels)
    found = judge(store, learner, labels, opinions_of(learner, store.features(), labels))
    if found is None:
        raise RamifyError(
            f"nothing says yet how good the labels of {store.folder} are: answer some questions of `ramify serve` or "
            "`ramify suggest`, which draw some of them at random, with refine as the learner"
        )
    return found


def spent(store: Store) -> float:
    """The seconds that people answered, without pauses over a minute."""
    events = store.events()
    names = {name: number for number, name in enumerate({event.annotator for event in events})}
    return active_seconds(
        np.array([event.at for event in events]), np.array([names[event.annotator] for event in events], np.intp)
    )


def _sorted(single: Sequence[Quality], paths: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Concepts whose precision is as wished for sure, surely is not, and those of which it cannot be told."""
    sure: list[str] = []
    short: list[str] = []
    open_: list[str] = []
    for figures, path in zip(single, paths, strict=True):
        if figures.precision is None:
            open_.append(path)
        elif figures.precision.low >= WISHED:
            sure.append(path)
        else:
            (short if figures.precision.high < WISHED else open_).append(path)
    return sure, short, open_


def _figures(found: Quality) -> dict[str, Any]:
    return {
        "precision": _bounds(found.precision),
        "recall": _bounds(found.recall),
        "f1": _bounds(found.f1),
        "draws": found.draws,
        "settled": found.settled,
    }


def _bounds(interval: Interval | None) -> shapes.Bounds | None:
    return None if interval is None else shapes.Bounds(**{k: round(v, 4) for k, v in interval._asdict().items()})
