"""Reasons: why an entry is known, as facts that the page puts into words."""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, RELEVANT, WORDS, Contradiction, Source
from ramify.project.live import shapes
from ramify.project.live.shown import source_word
from ramify.project.live.state import State
from ramify.project.store.answers import Event
from ramify.project.store.items import Contents


def reasons(state: State, item: int, concept: int) -> shapes.Why:
    """The state and source of an entry, who said what about it, and from what else it follows."""
    with state.lock:
        contents, labels = state.store.contents, state.labels
        states = labels.states(item, np.arange(len(contents.taxonomy)))[0]
        source = Source(int(labels.sources(item, concept)[0, 0]))
        said = labels.assertions(item)
        contradictions = labels.take(np.array([item])).contradictions()
    listed: list[shapes.Reason] = [
        shapes.AnswerReason(
            annotator=event.annotator,
            answer=event.answer,  # type: ignore[arg-type]  # the database lets no other word in
            at=event.at,
            settles=event.settles,
        )
        for event in _events(state, contents, item, concept)
    ]
    imported = said.values[(said.concepts == concept) & (said.sources == Source.IMPORTED)]
    listed += [shapes.ImportReason(value="yes" if value == RELEVANT else "no") for value in imported]
    if source == Source.DEDUCED:
        listed.append(_deduction(contents, states, concept))
    listed += [shapes.ContradictionReason(said=statements(contents, torn)) for torn in contradictions]
    return shapes.Why(state=WORDS[int(states[concept])], source=source_word(source), reasons=listed)


def _events(state: State, contents: Contents, item: int, concept: int) -> list[Event]:
    """All events about an entry, oldest first; also about what was merged into the concept."""
    about = [stable for stable, number in contents.counts_for.items() if number == concept]
    return sorted((e for stable in about for e in state.store.events_about(item, stable)), key=lambda event: event.seq)


def statements(contents: Contents, contradiction: Contradiction) -> list[shapes.Statement]:
    """What contradicts each other."""
    return [
        shapes.Statement(
            concept=int(contents.id_of[contents.taxonomy.index(path)]),
            path=path,
            value="yes" if value == RELEVANT else "no",
            source="imported" if source == Source.IMPORTED else "annotated",
        )
        for path, value, source in contradiction.assertions
    ]


def _deduction(contents: Contents, states: NDArray[np.int8], concept: int) -> shapes.DeductionReason:
    taxonomy = contents.taxonomy
    parent = int(taxonomy.parents[concept])
    relevant = [int(child) for child in taxonomy.children(concept) if states[child] == RELEVANT]
    rule: shapes.Rule
    if states[concept] == IRRELEVANT:
        refused = parent >= 0 and states[parent] == IRRELEVANT
        rule, origin = ("parent-irrelevant", parent) if refused else ("no-child", concept)
    else:
        rule, origin = ("child-relevant", relevant[0]) if relevant else ("last-child", parent)
    return shapes.DeductionReason(rule=rule, concept=int(contents.id_of[origin]), path=taxonomy.path(origin))
