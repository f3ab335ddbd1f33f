"""Tasks: questions as people see them, with everything that one screen shows."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.labels import RELEVANT
from ramify.project.store.store import Item

if TYPE_CHECKING:
    from ramify.project.live.service import Service

GRID = 12  # items on one screen
EXAMPLES = 3  # known positives of a concept
ALL_EXAMPLES = 12  # on one screen
REMEMBERED = 8  # positives of each concept, the newest

Entries = Sequence[tuple[int, int]]
"""Items and stable concept ids."""


class Tasks:
    """Puts entries together to screens."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self.positives: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def remember(self, items: Sequence[int], concepts: Sequence[int]) -> None:
        """Keep positives of concepts (taxonomy numbers), to be shown as examples."""
        for item, concept in zip(items, concepts, strict=True):
            if item not in self.positives[concept]:
                self.positives[concept].append(item)

    def together(self, entries: Entries, mode: str) -> list[list[tuple[int, int]]]:
        """Entries that belong on one screen: by item and parent, one by one, or by concept."""
        if mode == "single":
            return [[entry] for entry in entries]
        taxonomy, number_of = self.service.store.taxonomy, self.service.store.number_of
        screens: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for item, concept in entries:
            if mode == "grid":
                screens.setdefault((concept, 0), []).append((item, concept))
            else:
                screens.setdefault((item, int(taxonomy.parents[number_of[concept]])), []).append((item, concept))
        size = GRID if mode == "grid" else len(taxonomy)
        return [screen[n : n + size] for screen in screens.values() for n in range(0, len(screen), size)]

    def regrouped(self, held: Sequence[tuple[int, int, float]], mode: str, count: int) -> list[dict[str, Any]]:
        """What an annotator holds already, as screens of the mode they are in, so many at most."""
        until = {(item, concept): until for item, concept, until in held if concept in self.service.store.number_of}
        return [
            self.task(mode, screen, min(until[entry] for entry in screen))
            for screen in self.together(list(until), mode)[:count]
        ]

    def task(self, mode: str, entries: Entries, until: float) -> dict[str, Any]:
        """One screen."""
        store = self.service.store
        taxonomy = store.taxonomy
        numbers = [store.number_of[concept] for _, concept in entries]
        parent = int(taxonomy.parents[numbers[0]])
        about = parent if mode == "group" and parent >= 0 else numbers[0]
        examples = self._examples(numbers, {item for item, _ in entries})
        items = self.items([item for item, _ in entries] + [item for _, item in examples])
        return {
            "task": f"{mode}:{entries[0][0]}:{'-'.join(str(concept) for _, concept in entries[:1])}:{len(entries)}",
            "mode": mode,
            "item": items[entries[0][0]],
            "items": [items[item] for item, _ in entries] if mode == "grid" else [],
            "concept": int(store.id_of[about]),
            "path": taxonomy.path(about).split(" > "),
            "description": taxonomy.concepts[about].description,
            "exhaustive": bool(taxonomy.exhaustive[about]),
            "entries": [
                {"item": item, **concept_of(store, number)} for (item, _), number in zip(entries, numbers, strict=True)
            ],
            "examples": [{"concept": int(store.id_of[number]), "item": items[item]} for number, item in examples],
            "guess": self._guess(entries, numbers),
            "model": self.service.model.version,
            "until": until,
        }

    def items(self, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Items as the page shows them."""
        return {item.number: as_shown(item) for item in self.service.store.items(sorted(set(numbers)))}

    def _examples(self, concepts: Sequence[int], asked: set[int]) -> list[tuple[int, int]]:
        """Known positives: concepts (taxonomy numbers) and items, none of those that are asked about."""
        wanted = {c: [i for i in reversed(self.positives[c]) if i not in asked] for c in dict.fromkeys(concepts)}
        numbers = sorted({item for items in wanted.values() for item in items})
        row_of = {item: row for row, item in enumerate(numbers)}
        states = self.service.labels.states(numbers, list(wanted))  # at once: every look waits for its turn
        chosen = [
            (concept, item)
            for column, (concept, items) in enumerate(wanted.items())
            for item in [one for one in items if states[row_of[one], column] == RELEVANT][:EXAMPLES]
        ]
        return chosen[:ALL_EXAMPLES]

    def _guess(self, entries: Entries, numbers: Sequence[int]) -> dict[str, float]:
        found = self.service.model.guesses(np.array([item for item, _ in entries]), np.array(numbers))
        if found is None:
            return {}
        return {f"{item}:{concept}": round(p, 4) for (item, concept), p in zip(entries, found, strict=True)}


def as_shown(item: Item) -> dict[str, Any]:
    """An item for the page."""
    picture = f"/pictures/{item.number}" if item.picture is not None else None
    return {"item": item.number, "id": item.id, "text": item.text, "picture": picture}


def concept_of(store: Any, number: int) -> dict[str, Any]:
    """A concept for the page."""
    taxonomy = store.taxonomy
    return {
        "concept": int(store.id_of[number]),
        "name": taxonomy.names[number],
        "path": taxonomy.path(number),
        "description": taxonomy.concepts[number].description,
    }
