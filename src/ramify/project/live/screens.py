"""Screens: questions as people see them, with everything that is shown beside them."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ramify.labels import IRRELEVANT, RELEVANT, WORDS
from ramify.pace import GRID
from ramify.project.live import shapes
from ramify.project.live.shown import concept_of, item_of, source_word
from ramify.project.live.state import State
from ramify.project.store.items import Contents
from ramify.project.store.leases import Entry

EXAMPLES = 3  # known positives of a concept
ALL_EXAMPLES = 12  # on one screen
REMEMBERED = 8  # positives of each concept, the newest


class Screens:
    """Puts entries together to screens."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.positives: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
        self._concepts_of: Contents | None = None
        self._concepts: dict[int, dict[str, Any]] = {}

    def remember(self, items: Sequence[int], concepts: Sequence[int]) -> None:
        """Keep positives of concepts (taxonomy numbers), to be shown as examples."""
        for item, concept in zip(items, concepts, strict=True):
            if item not in self.positives[concept]:
                self.positives[concept].append(item)

    def group(self, entries: Sequence[Entry], mode: str) -> list[list[Entry]]:
        """Entries that belong on one screen: by item and parent, one by one, or by concept."""
        if mode == "single":
            return [[entry] for entry in entries]
        contents = self.state.store.contents
        screens: dict[tuple[int, int], list[Entry]] = {}
        for item, concept in entries:
            parent = int(contents.taxonomy.parents[contents.number_of[concept]])
            screens.setdefault((concept, 0) if mode == "grid" else (item, parent), []).append((item, concept))
        size = GRID if mode == "grid" else len(contents.taxonomy)
        return [screen[n : n + size] for screen in screens.values() for n in range(0, len(screen), size)]

    def held(self, leases: Sequence[tuple[int, int, float]], mode: str, count: int) -> list[shapes.Screen]:
        """What an annotator holds already, as screens of the mode they are in, so many at most."""
        known = self.state.store.number_of
        until = {(item, concept): end for item, concept, end in leases if concept in known}
        return [
            self.screen(mode, entries, min(until[entry] for entry in entries))
            for entries in self.group(list(until), mode)[:count]
        ]

    def screen(self, mode: str, entries: Sequence[Entry], until: float) -> shapes.Screen:
        """One screen."""
        now = self.state.snapshot()
        contents = now.contents
        taxonomy = contents.taxonomy
        numbers = [contents.number_of[concept] for _, concept in entries]
        about = int(taxonomy.parents[numbers[0]]) if mode == "group" else numbers[0]
        coarse = about < 0  # coarse concepts are asked, which have nothing above them
        examples = self._examples(numbers, {item for item, _ in entries})
        items = self.items([item for item, _ in entries] + [item for _, item in examples])
        return shapes.Screen(
            task=f"{mode}:{entries[0][0]}:{entries[0][1]}:{len(entries)}",
            mode=mode,  # type: ignore[arg-type]  # checked before
            item=items[entries[0][0]],
            items=[items[item] for item, _ in entries] if mode == "grid" else [],
            concept=None if coarse else int(contents.id_of[about]),
            path=[] if coarse else taxonomy.path(about).split(" > "),
            description="" if coarse else taxonomy.concepts[about].description,
            exhaustive=mode == "group" and not coarse and self._one_applies(entries[0][0], about, numbers),
            above=[] if mode == "grid" else self._above(entries[0][0], int(taxonomy.parents[numbers[0]])),
            entries=[
                shapes.AskedEntry(item=item, **self._concept(contents, number))
                for (item, _), number in zip(entries, numbers, strict=True)
            ],
            examples=[
                shapes.Example(concept=int(contents.id_of[number]), item=items[item]) for number, item in examples
            ],
            guess=self._guess(entries, numbers),
            model=now.model.version,
            until=until,
        )

    def _one_applies(self, item: int, parent: int, asked: Sequence[int]) -> bool:
        """Whether one of the asked children has to be relevant: not where another one is, or may be."""
        taxonomy = self.state.labels.taxonomy
        others = [child for child in taxonomy.children(parent).tolist() if child not in set(asked)]
        known = not others or bool((self.state.labels.states(item, others) == IRRELEVANT).all())
        return bool(taxonomy.exhaustive[parent]) and known

    def _above(self, item: int, lowest: int) -> list[shapes.Above]:
        """What is known of the concepts above the asked ones, the topmost first."""
        contents, labels = self.state.store.contents, self.state.labels
        steps = []
        while lowest >= 0:
            steps.append(lowest)
            lowest = int(contents.taxonomy.parents[lowest])
        if not steps:
            return []
        steps.reverse()
        states, sources = labels.states(item, steps)[0], labels.sources(item, steps)[0]
        return [
            shapes.Above(
                concept=int(contents.id_of[step]),
                name=contents.taxonomy.names[step],
                state=WORDS[int(state)],
                source=source_word(int(source)),
            )
            for step, state, source in zip(steps, states, sources, strict=True)
        ]

    def _concept(self, contents: Contents, number: int) -> dict[str, Any]:
        """A concept as the page reads it, made once: it is shown again and again."""
        if self._concepts_of is not contents:
            self._concepts_of, self._concepts = contents, {}
        if number not in self._concepts:
            self._concepts[number] = concept_of(contents, number).model_dump()
        return self._concepts[number]

    def items(self, numbers: Sequence[int]) -> dict[int, shapes.Item]:
        """Items as the page shows them."""
        return {item.number: item_of(item) for item in self.state.store.items(sorted(set(numbers)))}

    def _examples(self, concepts: Sequence[int], asked: set[int]) -> list[tuple[int, int]]:
        """Known positives: concepts (taxonomy numbers) and items, none of those that are asked about."""
        wanted = {c: [i for i in reversed(self.positives[c]) if i not in asked] for c in dict.fromkeys(concepts)}
        numbers = sorted({item for items in wanted.values() for item in items})
        row_of = {item: row for row, item in enumerate(numbers)}
        states = self.state.labels.states(numbers, list(wanted))  # at once: every look waits for its turn
        chosen = [
            (concept, item)
            for column, (concept, items) in enumerate(wanted.items())
            for item in [number for number in items if states[row_of[number], column] == RELEVANT][:EXAMPLES]
        ]
        return chosen[:ALL_EXAMPLES]

    def _guess(self, entries: Sequence[Entry], numbers: Sequence[int]) -> dict[str, float]:
        guesses = self.state.model.guesses(np.array([item for item, _ in entries]), np.array(numbers))
        if guesses is None:
            return {}
        return {f"{item}:{concept}": round(p, 4) for (item, concept), p in zip(entries, guesses, strict=True)}
