"""Views: what a service shows besides questions. Counts and lists are renewed in the background and then only read."""

import math
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT
from ramify.project.live.cache import opinions
from ramify.project.live.reasons import reasons
from ramify.project.live.screens import as_shown, concept_of
from ramify.taxonomy import Index

if TYPE_CHECKING:
    from ramify.project.live.service import Service

STATES = {"yes": 1, "no": 0, "unknown": -1}
DISPUTED = "disputed"  # unknown because annotators disagree
WORDS = {value: word for word, value in STATES.items()}
SOURCES = ("unknown", "imported", "annotated", "deduced")
ROWS = 2048  # items that are looked at together
LONGEST_PAGE = 200


class Views:
    """Status, history, browsing, review."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self._lock = Lock()
        self._counts: list[dict[str, Any]] | None = None
        self._unknown: int | None = None
        self._contradictions: list[str] = []
        self._changed = True

    def took(self, items: Index, concepts: Index, values: NDArray[np.int8]) -> None:
        """Told of new answers."""
        self._changed = True
        yes = values == RELEVANT
        self.service.tasks.remember(items[yes].tolist(), concepts[yes].tolist())

    def count(self) -> None:
        """Count everything again, if anything changed."""
        with self._lock:
            if not self._changed and self._counts is not None:
                return
            self._changed = False
        service = self.service
        with service._lock:
            contents, labels = service.store.contents, service.labels
        taxonomy = contents.taxonomy
        yes, no, unknown = np.zeros((3, len(taxonomy)), np.intp)
        torn: list[str] = []
        for first in range(0, len(labels), ROWS):
            part = labels.take(np.arange(first, min(first + ROWS, len(labels))))  # the rest happens without the lock
            for total, more in zip((yes, no, unknown), part.counts(), strict=True):
                total += more
            torn += [str(replace(each, item=each.item + first)) for each in part.contradictions()]
        counted = zip(yes.tolist(), no.tolist(), unknown.tolist(), strict=True)
        count_of = [dict(zip(STATES, counts, strict=True)) for counts in counted]
        self._counts = [{**concept_of(contents, n), **count_of[n]} for n in taxonomy.preorder.tolist()]
        self._unknown = int(unknown[taxonomy.leaves].sum())
        self._contradictions = torn[:1000]
        if not service.tasks.positives:
            self._find_positives()

    def _find_positives(self) -> None:
        """Imported fine labels, as examples, until people give their own."""
        leaves = self.service.store.taxonomy.leaves
        open_for = set(leaves.tolist())
        for first in range(0, len(self.service.labels), ROWS):
            states = self.service.labels.states(slice(first, first + ROWS))
            for concept in sorted(open_for):
                items = np.flatnonzero(states[:, concept] == RELEVANT)[:8] + first
                self.service.tasks.remember(items.tolist(), [concept] * len(items))
                if len(self.service.tasks.positives[concept]) >= 8:
                    open_for.discard(concept)
            if not open_for:
                break

    # -- reading -------------------------------------------------------------------------------------------------------

    def status(self, annotator: str | None = None) -> dict[str, Any]:
        """Everything about how far the project is."""
        service = self.service
        if self._counts is None:
            self.count()
        curve = [{**point["estimate"], "answers": point["answers"]} for point in service.store.curve()]
        named = service.store.model_facts()
        return {
            "items": len(service.labels),
            "answers": service.store.count_answers(),
            "budget": service.budget,
            "unknown": self._unknown,
            "concepts": self._counts,
            "model": named and {**named, "version": service.model.version},
            "training": _training(service.store.training()),
            "curve": curve,
            "estimate": curve[-1] if curve else None,
            "next_100": next_100(curve),
            "annotators": service.store.annotators(),
            "annotator": annotator,
            "disagreements": len(service.store.disagreements()),
            "contradictions": len(self._contradictions),
            "coarse_wrong": len(service.store.refused_coarse()),
        }

    def taxonomy(self) -> list[dict[str, Any]]:
        """All concepts in reading order."""
        store = self.service.store
        taxonomy = store.taxonomy
        fine = set(taxonomy.leaves.tolist())
        return [
            {
                **concept_of(store, n),
                "parent": int(store.id_of[taxonomy.parents[n]]) if taxonomy.parents[n] >= 0 else None,
                "exhaustive": bool(taxonomy.exhaustive[n]),
                "fine": n in fine,
            }
            for n in taxonomy.preorder.tolist()
        ]

    def history(self, annotator: str, limit: int = 10) -> list[dict[str, Any]]:
        """The annotator's last answers, newest first."""
        store = self.service.store
        events = [e for e in store.events(annotator=annotator, last=4 * limit + 50) if e.concept in store.number_of]
        undone = {event.undoes for event in events}
        events = [event for event in reversed(events) if event.answer != "undo"][:limit]
        shown = self.service.tasks.items([event.item for event in events])
        return [
            {
                "seq": event.seq,
                "item": shown[event.item],
                "concept": event.concept,
                "path": store.taxonomy.path(store.number_of[event.concept]),
                "answer": event.answer,
                "at": event.at,
                "undone": event.seq in undone,
            }
            for event in events
        ]

    def predictions(self, item: int) -> dict[str, Any]:
        """The state and the probability of every concept of an item."""
        self._check_item(item)
        (shown,) = self.service.store.items([item])
        return {"item": as_shown(shown), "entries": self._entries([item])[0]}

    def _entries(self, items: list[int], only: Index | None = None) -> list[list[dict[str, Any]]]:
        service = self.service
        with service._lock:  # what belongs together, should another process add or split just now
            contents, learner, features = service.store.contents, service.model.learner, service.features
            taxonomy = contents.taxonomy
            concepts = taxonomy.preorder if only is None else only
            states = service.labels.states(items, concepts)
            sources = service.labels.sources(items, concepts)
            known = service.labels.take(np.array(items, np.intp))
        disputed = {(item, concept) for item, concept, _ in service.store.disagreements()}
        found = None
        if learner is not None and features is not None:
            found = opinions(learner, features[items], known)
        leaves = len(taxonomy.leaves)
        return [
            [
                {
                    "concept": int(contents.id_of[concept]),
                    "path": taxonomy.path(concept),
                    "fine": bool(concept < leaves),
                    "probability": None if found is None or concept >= leaves else round(float(found[row, concept]), 4),
                    "state": WORDS[int(states[row, place])],
                    "source": SOURCES[int(sources[row, place])],
                    "disputed": (items[row], int(contents.id_of[concept])) in disputed,
                }
                for place, concept in enumerate(concepts.tolist())
            ]
            for row in range(len(items))
        ]

    def browse(
        self,
        *,
        concept: int | None = None,
        state: str | None = None,
        low: float = 0.0,
        high: float = 1.0,
        query: str = "",
        offset: int = 0,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Items by what is known or predicted of a concept, and by their id or text."""
        service, store = self.service, self.service.store
        if state not in (None, DISPUTED, *STATES):
            raise RamifyError(f"a state is {', '.join(STATES)} or {DISPUTED}, not {state!r}")
        if not (0 <= low <= high <= 1 and offset >= 0 and 1 <= limit <= LONGEST_PAGE):
            raise RamifyError(f"probabilities go from 0 to 1, and a page shows 1 to {LONGEST_PAGE} items")
        if concept is not None and concept not in store.number_of:
            raise RamifyError(f"there is no concept {concept}: see the taxonomy for their ids")
        found = store.search(query) if query else np.arange(len(service.labels))
        if state == DISPUTED:
            torn = [item for item, about, _ in store.disagreements() if concept in (None, about)]
            found = np.intersect1d(found, np.array(torn, np.intp))
        if concept is not None:
            number = store.number_of[concept]
            if state in STATES:
                found = found[self._states_of(found, number) == STATES[state]]
            if (low > 0 or high < 1) and number < len(store.taxonomy.leaves):
                found = found[self._between(found, number, low, high)]
        page = [int(item) for item in found[offset : offset + limit]]
        shown = service.tasks.items(page)
        only = None if concept is None else np.array([store.number_of[concept]])
        entries = self._entries(page, only) if page else []
        rows = [{"item": shown[item], "entries": each} for item, each in zip(page, entries, strict=True)]
        return {"total": len(found), "items": rows}

    def _states_of(self, items: Index, number: int) -> NDArray[np.int8]:
        blocks = [self.service.labels.states(items[n : n + ROWS], number)[:, 0] for n in range(0, len(items), ROWS)]
        return np.concatenate([np.empty(0, np.int8), *blocks])

    def _between(self, items: Index, number: int, low: float, high: float) -> NDArray[np.bool_]:
        seen = self.service.model.seen
        if seen is None:
            return np.zeros(len(items), np.bool_)
        there = items < len(seen)
        p = np.full(len(items), -1.0)
        p[there] = seen.predictions[items[there], number]
        return (p >= low - 1e-3) & (p <= high + 1e-3)

    def why(self, item: int, concept: int) -> dict[str, Any]:
        """The state of one entry, and the reasons for it."""
        self._check_item(item)
        if concept not in self.service.store.number_of:
            raise RamifyError(f"there is no concept {concept}: see the taxonomy for their ids")
        return reasons(self.service, item, self.service.store.number_of[concept])

    def review(self) -> dict[str, Any]:
        """What somebody should look at: disagreements, contradictions, coarse labels that were called wrong."""
        store = self.service.store
        taxonomy = store.taxonomy
        torn = [each for each in store.disagreements() if each[1] in store.number_of][:LONGEST_PAGE]
        wrong = [each for each in store.refused_coarse() if each[1] in store.number_of][:LONGEST_PAGE]
        shown = self.service.tasks.items([item for item, *_ in [*torn, *wrong]])

        def entry(item: int, concept: int) -> dict[str, Any]:
            return {"item": shown[item], "concept": concept, "path": taxonomy.path(store.number_of[concept])}

        return {
            "disagreements": [
                {**entry(item, concept), "answers": {name: "yes" if v else "no" for name, v in said.items()}}
                for item, concept, said in torn
            ],
            "contradictions": self._contradictions[:LONGEST_PAGE],
            "coarse_wrong": [{**entry(item, concept), "annotator": name} for item, concept, name in wrong],
        }

    def _check_item(self, item: int) -> None:
        if not 0 <= item < len(self.service.labels):
            raise RamifyError(f"there is no item {item}: items are numbered 0 to {len(self.service.labels) - 1}")


def next_100(curve: list[dict[str, Any]]) -> dict[str, float] | None:
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


def _training(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"running": found["running"], "since": found["started"], "error": found["error"]}
