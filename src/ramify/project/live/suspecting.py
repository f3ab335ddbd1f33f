"""Suspecting: which labels of a project its model doubts, and the table in which people settle them."""

from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import WORDS
from ramify.project.live.state import State
from ramify.project.store.store import Store
from ramify.project.transfer.choices import SUSPECT_COLUMNS, shortest_name
from ramify.quality.suspects import Suspects, suspects
from ramify.taxonomy import ConceptRef, Index


def suspects_of(state: State, items: Index, concept: int | None = None) -> Suspects:
    """The doubted labels of some items, of one concept (its number) or of all; what somebody settled is no suspect."""
    now = state.snapshot()
    model, found = now.model, None
    if model.learner is not None and model.cache is not None:
        with model.lock:
            found = suspects(model.learner, model.cache, now.labels, items, concept)
    if found is None:
        raise RamifyError(
            "there is no model yet that can judge a label without having seen it: train refine, the default, first"
        )
    said, wide = state.store.consensus.ledger().agreement, len(now.labels.taxonomy)
    numbers = now.contents.numbers(said.concepts)
    keys = (said.items * wide + numbers)[said.settled & (numbers >= 0)]
    return found.where(~np.isin(found.items * wide + found.concepts, keys))


def list_suspects(store: Store, count: int, concept: ConceptRef | None = None) -> tuple[dict[str, list[Any]], int]:
    """The most doubted labels as columns, whose ``answer`` is to be filled, and how many there are in all."""
    state = State(store)
    taxonomy = store.taxonomy
    number = None if concept is None else taxonomy.index(concept)
    found = suspects_of(state, np.arange(len(state.labels)), number)
    first = found.where(np.arange(len(found.items)) < count)
    shown = {item.number: item for item in store.items(np.unique(first.items).tolist())}
    rows = [
        (
            shown[item].id,
            shortest_name(taxonomy, about),
            WORDS[value],
            round(doubt, 4),
            None,
            WORDS[1],
            shown[item].text or shown[item].id,
        )
        for item, about, value, doubt in zip(*(part.tolist() for part in first), strict=True)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(SUSPECT_COLUMNS)
    return {name: list(column) for name, column in zip(SUSPECT_COLUMNS, columns, strict=True)}, len(found.items)
