"""Status: how far a project is, from what lies on disk. Nothing here loads a model, nor what a model is made of."""

import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ramify.files import read_npy
from ramify.project.live import shapes
from ramify.project.live.shown import concept_of
from ramify.project.live.tally import Tally
from ramify.project.store.items import Contents
from ramify.project.store.models import KeptModel
from ramify.project.store.store import Store
from ramify.quality import FEWEST
from ramify.taxonomy import Taxonomy

LISTED = 3  # concepts named in a sentence
PACED = 100  # screens that say how quick people are

NOTED = "quality"  # the setting that keeps what was estimated last


def status_of(
    store: Store,
    tally: Tally,
    *,
    budget: int | None = None,
    version: int | None = None,
    problems: Sequence[shapes.Problem] = (),
) -> shapes.Status:
    """How far a project is, from what lies on disk: no model is loaded. ``version`` is the model that is asked."""
    contents = store.contents
    taxonomy = contents.taxonomy
    facts, training = store.model_facts(), store.training()
    unknown = int(tally.unknown[taxonomy.leaves].sum())
    quality = noted(store)
    curve = [{**point["estimate"], "answers": point["answers"]} for point in store.curve()]
    return shapes.Status(
        items=contents.items,
        answers=store.count_answers(),
        budget=budget,
        unknown=unknown,
        questions=tally.questions,
        pace=pace(store),
        progress=progress_sentence(contents.items * len(taxonomy.leaves), unknown, quality),
        advice=None if quality is None else quality.advice,
        out=store.leases().out(),
        concepts=[
            shapes.ConceptCount(
                **concept_of(contents, n).model_dump(),
                yes=int(tally.yes[n]),
                no=int(tally.no[n]),
                unknown=int(tally.unknown[n]),
            )
            for n in taxonomy.preorder.tolist()
        ],
        model=None if facts is None else _model(facts, version, training_due(store)),
        training=None if training is None else _training(training),
        curve=curve,
        next_100=next_100(curve),
        annotators=[shapes.AnnotatorCount(**counts) for counts in store.annotators()],
        disagreements=len(store.disagreements()),
        contradictions=len(tally.contradictions),
        coarse_wrong=len(store.refused_coarse()),
        flagged=len(store.standing_flags()),
        problems=list(problems),
    )


def read_status(store: Store) -> shapes.Status:
    """How far a project is that nobody serves here."""
    problems = [
        shapes.Problem(what=damage_sentence(version, damage), at=time.time())
        for version, damage in store.damaged_models()
    ]
    return status_of(store, Tally.of(store.labels()), problems=problems)


def progress_sentence(entries: int, unknown: int, quality: shapes.Quality | None) -> str:
    """How far it is and how good, in words, for the page and the command line.

    >>> progress_sentence(400, 116, None)
    'Fine labels: 71 % settled.'
    >>> progress_sentence(0, 0, None)
    'There are no items yet.'
    """
    if not entries:
        return "There are no items yet."
    settled = f"Fine labels: {math.floor(100 * (1 - unknown / entries))} % settled"
    if quality is None or quality.all.f1 is None or quality.all.draws < FEWEST:
        return f"{settled}."
    f1 = quality.all.f1
    return f"{settled}, estimated F1 {f1.value:.2f} ({f1.low:.2f} to {f1.high:.2f}, from {quality.all.draws} audited)."


def pace(store: Store) -> float | None:
    """The seconds that a screen takes, the median of the last ones."""
    seconds = store.answers.seconds(PACED)
    return round(float(np.median(seconds)), 1) if seconds else None


def noted(store: Store) -> shapes.Quality | None:
    """How good the labels are by the audit, as it was noted last: see ``judging``."""
    kept = store.setting(NOTED)
    return None if kept is None else shapes.Quality(**kept)


_due: WeakKeyDictionary[Store, tuple[tuple[int, int], str | None]] = WeakKeyDictionary()  # of a model and a revision


def training_due(store: Store) -> str | None:
    """Why a new model should be trained, where the taxonomy was changed, or items were added, since the newest one was.

    It is asked by every status, and remembered: to look through large taxonomies takes seconds.
    """
    newest, contents = store.models.newest(), store.contents
    if newest is None:
        return None
    about = newest.version, contents.revision
    if store not in _due or _due[store][0] != about:
        _due[store] = about, _why_due(store, newest, contents)
    return _due[store][1]


def _why_due(store: Store, newest: KeptModel, contents: Contents) -> str | None:
    with suppress(OSError, ValueError, LookupError, TypeError):  # damage is told by whoever loads it
        before = Taxonomy(json.loads((newest.folder / "learner" / "learner.json").read_text("utf-8"))["taxonomy"])
        known = store.changes.ids_of(before)
        if known is None:
            return "it knows other concepts than the project: train a new model"
        there = set(known)
        new = [n for n in contents.taxonomy.preorder.tolist() if int(contents.id_of[n]) not in there]
        if not new and before.form == contents.taxonomy.form:
            unseen = contents.items - int(read_npy(newest.folder / "count.npy")[0])
            return (
                f"{unseen} items were added since, about which it asks nothing: train a new model" if unseen else None
            )
        listed = ", ".join(repr(contents.taxonomy.path(n)) for n in new[:LISTED]) + ", ..." * (len(new) > LISTED)
        strange = f", {len(new)} of its concepts are new to the model ({listed})" if new else ""
        return f"the taxonomy was changed since{strange}: train a new model"
    return None


def _model(facts: dict[str, Any], version: int | None, due: str | None) -> shapes.ModelFacts:
    estimate = facts["estimate"] or {}
    return shapes.ModelFacts(
        version=version or facts["version"],
        learner=facts["learner"],
        at=facts["at"],
        estimate=estimate,
        names=facts["note"],
        due=due,
    )


def _training(facts: dict[str, Any]) -> shapes.TrainingFacts:
    how_far = {key: facts.get(key) for key in ("doing", "share", "left")}
    return shapes.TrainingFacts(running=facts["running"], since=facts["started"], error=facts["error"], **how_far)


def taxonomy_of(contents: Contents) -> list[shapes.Concept]:
    """All concepts in reading order."""
    taxonomy, id_of = contents.taxonomy, contents.id_of
    return [
        shapes.Concept(
            **concept_of(contents, n).model_dump(),
            parent=int(id_of[taxonomy.parents[n]]) if taxonomy.parents[n] >= 0 else None,
            exhaustive=bool(taxonomy.exhaustive[n]),
            aliases=list(taxonomy.concepts[n].aliases),
            fine=n < len(taxonomy.leaves),
        )
        for n in taxonomy.preorder.tolist()
    ]


def damage_sentence(version: int, damage: str) -> str:
    """What people are told of a model that cannot be used."""
    return f"model {version} is damaged and was left out ({damage}): train a new one"


def next_100(curve: Sequence[dict[str, float]]) -> dict[str, float] | None:
    """What 100 more answers would bring, if the estimates go on growing with the logarithm of the answers.

    >>> points = [{"answers": n, "p@1": 0.1 * math.log(n)} for n in (100, 200, 400)]
    >>> next_100(points)["p@1"].__round__(4) == round(0.1 * math.log(500 / 400), 4)
    True
    """
    points = [point for point in curve if point["answers"] > 0][-10:]
    if len({point["answers"] for point in points}) < 3:
        return None
    x = np.log([point["answers"] for point in points])
    more = math.log1p(100 / points[-1]["answers"])
    keys = [key for key in points[-1] if key.startswith("p@")]
    return {key: float(np.polyfit(x, [point[key] for point in points], 1)[0] * more) for key in keys}
