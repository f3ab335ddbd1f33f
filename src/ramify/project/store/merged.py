"""Merged: what is said of a concept that others were merged into, from what is said of these and of itself.

It is relevant where one of them is, irrelevant where all of them are, else unknown; of each of them an answer counts,
or else the import. What is said of the merged concept itself outranks what is said of its parts, source by source.
Nothing of this is stored: so an answer to a part that is taken back, or a merge that is, leaves nothing behind.
"""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels, Source
from ramify.project.store.agreement import Agreement
from ramify.project.store.claims import Claims
from ramify.project.store.items import Contents
from ramify.taxonomy import Index

Values = NDArray[np.int8]


def put_merged(contents: Contents, labels: Labels, claims: Claims, said: Agreement, only: Index | None = None) -> None:
    """Bring labels in line with what is said of merged concepts, for all items or some; other concepts stay."""
    for concept in contents.merged_now:
        number = contents.number_of[concept]
        items = _items(contents, claims, said, concept) if only is None else only
        items = items[items < len(labels)]
        imported, answered = _said(contents, claims, said, concept, items)
        labels.retract(items, number, Source.IMPORTED)
        labels.retract(items, number, Source.ANNOTATED)
        for values, source in ((imported, Source.IMPORTED), (answered, Source.ANNOTATED)):
            known = values != UNKNOWN
            if source == Source.IMPORTED:  # an answer outranks it
                known &= (answered == UNKNOWN) | (answered == values)
            labels.record(items[known], number, values[known], source)


def _said(contents: Contents, claims: Claims, said: Agreement, concept: int, items: Index) -> tuple[Values, Values]:
    """What import and answers say of a concept (a stable id, gone or not) of some items, each 1, 0 or -1."""
    imported = claims.values_of(concept, contents.number_of.get(concept), items)
    answered = said.values_of(items, np.full(len(items), concept))
    if concept in contents.merged:
        parts = [_said(contents, claims, said, part, items) for part in contents.merged[concept]]
        counts = np.stack([np.where(by != UNKNOWN, by, claimed) for claimed, by in parts])
        by_people = np.stack([by for _, by in parts])
        yes, no = (counts == RELEVANT).any(axis=0), (counts == IRRELEVANT).all(axis=0)
        value = np.where(yes, RELEVANT, np.where(no, IRRELEVANT, UNKNOWN)).astype(np.int8)
        people = np.where(yes, (by_people == RELEVANT).any(axis=0), (by_people != UNKNOWN).any(axis=0))
        imported = np.where(imported != UNKNOWN, imported, np.where(people, UNKNOWN, value))
        answered = np.where(answered != UNKNOWN, answered, np.where(people, value, UNKNOWN))
    return imported.astype(np.int8), answered.astype(np.int8)


def _items(contents: Contents, claims: Claims, said: Agreement, concept: int) -> Index:
    """The items of which anything is said about a concept or its parts."""
    own = np.append(claims.items_of(concept, contents.number_of.get(concept)), said.items[said.concepts == concept])
    parts = [_items(contents, claims, said, part) for part in contents.merged.get(concept, ())]
    return np.unique(np.concatenate([own, *parts])).astype(np.intp)
