"""Views: what is shown of a project besides questions."""

from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, WORDS, Contradiction
from ramify.project.limits import LONGEST_PAGE, MOST_ANSWERS
from ramify.project.live import shapes
from ramify.project.live.finding import Finding
from ramify.project.live.reasons import reasons, statements
from ramify.project.live.screens import Screens
from ramify.project.live.shown import item_of, source_word
from ramify.project.live.state import State
from ramify.project.live.tally import Tally
from ramify.project.store.leases import Entry
from ramify.taxonomy import Index


class Views:
    """History, single items, browsing, review."""

    def __init__(self, state: State, screens: Screens) -> None:
        self.state, self.screens, self.finding = state, screens, Finding(state)

    def history(self, annotator: str, limit: int, before: int | None) -> list[shapes.PastAnswer]:
        """The annotator's last answers, or those before one of them, newest first."""
        store = self.state.store
        past = [
            (e, undone) for e, undone in store.answers.past(annotator, limit, before) if e.concept in store.number_of
        ]
        items = self.screens.items([event.item for event, _ in past])
        return [
            shapes.PastAnswer(
                seq=event.seq,
                item=items[event.item],
                concept=event.concept,
                path=store.taxonomy.path(store.number_of[event.concept]),
                answer=event.answer,  # type: ignore[arg-type]  # the database lets no other word in
                at=event.at,
                undone=undone,
            )
            for event, undone in past
        ]

    def people(self) -> list[shapes.Person]:
        """Who answered how much, how quickly, and when last."""
        answers = self.state.store.answers
        seconds: dict[str, list[float]] = {}
        for name, took in answers.screens():
            seconds.setdefault(name, []).append(took)
        last = answers.last_seen()
        return [
            shapes.Person(
                **counts,
                screens=len(seconds.get(counts["name"], ())),
                seconds=median(seconds[counts["name"]]) if counts["name"] in seconds else None,
                last=last[counts["name"]],
            )
            for counts in self.state.store.annotators()
            if counts["name"] in last  # somebody else may have begun just now
        ]

    def predictions(self, item: int) -> shapes.KnownItem:
        """The state and the probability of every concept of an item."""
        self._check_item(item)
        (shown,) = self.state.store.items([item])
        return shapes.KnownItem(item=item_of(shown), entries=self._entries([item])[0])

    def _entries(self, items: list[int], only: Index | None = None) -> list[list[shapes.Entry]]:
        now = self.state.snapshot()
        taxonomy, id_of = now.contents.taxonomy, now.contents.id_of
        concepts = taxonomy.preorder if only is None else only
        states, sources = now.labels.states(items, concepts), now.labels.sources(items, concepts)
        disputed = {(item, concept) for item, concept, _ in self.state.store.disagreements()}
        settled = self._settled(items)
        torn = {(items[c.item], path) for c in now.labels.take(items).contradictions() for path, *_ in c.assertions}
        p = now.model.opinions(now.labels, np.array(items, np.intp))
        leaves = len(taxonomy.leaves)

        def probability(row: int, concept: int) -> float | None:
            return None if concept >= leaves or np.isnan(p[row, concept]) else round(float(p[row, concept]), 4)

        return [
            [
                shapes.Entry(
                    concept=int(id_of[concept]),
                    path=taxonomy.path(concept),
                    fine=concept < leaves,
                    probability=probability(row, concept),
                    state=WORDS[int(states[row, place])],
                    source=source_word(int(sources[row, place])),
                    disputed=(item, int(id_of[concept])) in disputed,
                    contradicted=(item, taxonomy.path(concept)) in torn,
                    settled=(item, int(id_of[concept])) in settled,
                )
                for place, concept in enumerate(concepts.tolist())
            ]
            for row, item in enumerate(items)
        ]

    def _settled(self, items: list[int]) -> set[Entry]:
        """What of some items somebody settled, by stable ids."""
        said = self.state.store.consensus.ledger().agreement
        lines = np.flatnonzero(said.settled & np.isin(said.items, items))
        return set(zip(said.items[lines].tolist(), said.concepts[lines].tolist(), strict=True))

    def browse(self, *, offset: int = 0, limit: int = 50, **filters: Any) -> shapes.Page:
        """Items by what is known or predicted of a concept, and by their id or text; some of them, see ``find``."""
        if not (offset >= 0 and 1 <= limit <= LONGEST_PAGE):
            raise RamifyError(f"a page shows 1 to {LONGEST_PAGE} items")
        items, number = self.finding.find(**filters)
        page = [int(item) for item in items[offset : offset + limit]]
        shown = self.screens.items(page)
        entries = self._entries(page, None if number is None else np.array([number])) if page else []
        rows = [shapes.KnownItem(item=shown[item], entries=row) for item, row in zip(page, entries, strict=True)]
        return shapes.Page(total=len(items), items=rows)

    def found(self, **filters: Any) -> shapes.Found:
        """The numbers of all of them, as many as can be answered at once."""
        items, _ = self.finding.find(**filters)
        return shapes.Found(total=len(items), items=items[:MOST_ANSWERS].tolist())

    def why(self, item: int, concept: int) -> shapes.Why:
        """The state of one entry, and the reasons for it."""
        self._check_item(item)
        return reasons(self.state, item, self.finding.number(concept))

    def review(self, tally: Tally) -> shapes.Review:
        """What somebody should look at: disagreements, contradictions, coarse labels that were called wrong."""
        store = self.state.store
        contents = store.contents
        known = contents.number_of
        disagreements = [torn for torn in store.disagreements() if torn[1] in known][:LONGEST_PAGE]
        refused = [wrong for wrong in store.refused_coarse() if wrong[1] in known][:LONGEST_PAGE]
        contradictions = self._still(tally.contradictions[:LONGEST_PAGE])
        flags = store.standing_flags()[:LONGEST_PAGE]
        items = self.screens.items(
            [item for item, *_ in [*disagreements, *refused]]
            + [torn.item for torn in contradictions]
            + [flag.item for flag in flags]
        )

        def path(concept: int) -> str:
            return contents.taxonomy.path(known[concept])

        return shapes.Review(
            disagreements=[
                shapes.Disagreement(
                    item=items[item],
                    concept=concept,
                    path=path(concept),
                    answers={name: "yes" if value == RELEVANT else "no" for name, value in said.items()},
                )
                for item, concept, said in disagreements
            ],
            contradictions=[
                shapes.Contradiction(item=items[torn.item], said=statements(contents, torn)) for torn in contradictions
            ],
            coarse_wrong=[
                shapes.RefusedLabel(item=items[item], concept=concept, path=path(concept), annotator=name)
                for item, concept, name in refused
            ],
            flags=[
                shapes.Flagged(
                    item=items[flag.item],
                    key=flag.key,
                    flag=flag.flag,  # type: ignore[arg-type]  # the database lets no other word in
                    note=flag.note,
                    annotator=flag.annotator,
                    at=flag.at,
                    paths=[path(concept) for concept in flag.concepts if concept in known],
                )
                for flag in flags
            ],
        )

    def _still(self, counted: list[Contradiction]) -> list[Contradiction]:
        """What still holds of contradictions that were counted a while ago: somebody may just have settled some."""
        if not counted:
            return []
        items = np.unique([torn.item for torn in counted])
        now = self.state.labels.take(items).contradictions()
        return [replace(torn, item=int(items[torn.item])) for torn in now]

    def _check_item(self, item: int) -> None:
        if not 0 <= item < len(self.state.labels):
            raise RamifyError(f"there is no item {item}: items are numbered 0 to {len(self.state.labels) - 1}")
