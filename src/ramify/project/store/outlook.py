"""Outlook: what a change of the taxonomy does to labels, told before or after it is done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ramify.concepts import Concept
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Contradiction, Labels
from ramify.project.store.agreement import Opinions
from ramify.project.store.claims import Claims
from ramify.project.store.items import Contents
from ramify.taxonomy import Index

ROWS = 4096  # items that are looked at together
LISTED = 20  # contradictions, and concepts that come, go, or are called or described otherwise
WHOLE = 30  # concepts of a taxonomy that is shown as a whole
BESIDE = 2  # siblings before and after a concept that are shown of a larger one

Counts: TypeAlias = tuple[int, int, int]
"""How many items are yes, no and unknown."""
Held: TypeAlias = tuple[int, frozenset[tuple[int, int]]]
"""An item, and what contradicts each other there: stable ids of concepts and values."""


@dataclass(frozen=True)
class Row:
    """What becomes of a concept's labels; None where it is not there."""

    before_path: str | None
    path: str | None
    before: Counts | None
    after: Counts | None

    def line(self) -> str:
        """As it is printed.

        >>> Row("animal > dog", "animal > hound", (2, 0, 1), (2, 0, 1)).line()
        'animal > dog, now animal > hound: 2 yes, 0 no, 1 unknown'
        >>> Row(None, "animal > owl", None, (0, 1, 2)).line(), Row("sky", None, (1, 1, 1), None).line()
        ('animal > owl, new: 0 yes, 1 no, 2 unknown', 'sky, gone: 1 yes, 1 no, 1 unknown before')
        """
        before, after = _counted(self.before), _counted(self.after)
        if self.before_path is None or self.path is None:
            return f"{self.path}, new: {after}" if self.path else f"{self.before_path}, gone: {before} before"
        called = self.path if self.path == self.before_path else f"{self.before_path}, now {self.path}"
        return f"{called}: {after}" + ("" if self.before == self.after else f"; before, {before}")


def _counted(counts: Counts | None) -> str:
    yes, no, unknown = counts or (0, 0, 0)
    return f"{yes} yes, {no} no, {unknown} unknown"


@dataclass(frozen=True)
class Outlook:
    """What a change does."""

    said: str
    """The change itself, in words."""
    taxonomy: str
    """The new one, as a tree; of a large one what changes, and its surroundings."""
    rows: list[Row]
    """The concepts that come, go, or of which other labels are known, or that are called otherwise."""
    answers_leave: int
    """Answers yes and no that stand and count no more."""
    answers_return: int
    """Those that count again."""
    claims_leave: int
    """Imported labels that count no more."""
    claims_return: int
    forgotten: int
    """Labels, of concepts that stay, that were known and are not any more."""
    deduced: int
    """Labels, of concepts that stay, that were unknown and are known."""
    turned: int
    """Labels of concepts that stay that were yes and are no, or the other way round."""
    contradictions: int
    """Those that were not there before."""
    torn: list[tuple[str, str]]
    """The first of them: the id of the item, and what contradicts what."""

    def __str__(self) -> str:
        """All of it, as it is printed."""
        rows = [row.line() for row in self.rows[:LISTED]]
        if len(self.rows) > LISTED:
            rows.append(f"and {len(self.rows) - LISTED} concepts more")
        said = [f"{self.said[0].upper()}{self.said[1:]}.", "", self.taxonomy]
        return "\n".join([*said, *(["", *rows] if rows else []), "", *self.lines()])

    def lines(self) -> list[str]:
        """What becomes of labels, in sentences."""
        counted = (
            (self.answers_leave, "answer", "no longer count", "kept, and back with an undo"),
            (self.answers_return, "answer", "count again", ""),
            (self.claims_leave, "imported label", "no longer count", "kept, and back with an undo"),
            (self.claims_return, "imported label", "count again", ""),
            (self.forgotten, "label", "become unknown", ""),
            (self.deduced, "label", "become known, by deduction", ""),
            (self.turned, "label", "turn round", ""),
            (self.contradictions, "new contradiction", "arise", "none of what contradicts counts until one is mended"),
        )
        told = [
            f"{count} {what}{'s' * (count > 1)} {_one(does) if count == 1 else does}{f' ({more})' * bool(more)}."
            for count, what, does, more in counted
            if count
        ]
        told += [f"  item {item}: {said}" for item, said in self.torn]
        others = any(row.before != row.after for row in self.rows)
        return told or [f"All {'other ' * others}labels stay as they are."]


def _one(does: str) -> str:
    """A verb for one.

    >>> _one("no longer count"), _one("become unknown")
    ('no longer counts', 'becomes unknown')
    """
    words = does.split(" ")
    place = 2 if words[0] == "no" else 0
    return " ".join([*words[:place], f"{words[place].rstrip(',')}s", *words[place + 1 :]])


def outlook(
    said: str,
    old: Contents,
    new: Contents,
    claims: Claims,
    labels: Labels,
    then: Labels | None,
    live: Opinions,
    names: Callable[[list[int]], list[str]],
) -> Outlook:
    """Compare the labels of two contents, with all answers that stand; ``names`` gives the ids of items.

    ``then`` is None where the new contents differ by names alone: only what is called otherwise is counted.
    """
    answered = [np.isin(live.concepts, list(of.counts_for)) for of in (old, new)]
    about = np.concatenate([old.id_of[claims.labels.assertions().concepts], claims.concepts])
    claimed = [np.isin(about, list(of.counts_for)) for of in (old, new)]
    looked = [np.arange(len(of.id_of)) for of in (old, new)]
    stay = [stable for stable in new.id_of.tolist() if stable in old.number_of]
    torn: list[Contradiction] = []
    if then is None:
        then, stay = labels, []
        looked = [
            np.flatnonzero([was != now for was, now in zip(old.taxonomy.names, new.taxonomy.names, strict=True)])
        ] * 2
    else:
        known = {held for _, held in _held(old, labels)}
        torn = [contradiction for contradiction, held in _held(new, then) if held not in known]
    staying = [[of.number_of[stable] for stable in stay] for of in (old, new)]
    forgotten = deduced = turned = 0
    counts = [np.zeros((3, len(of.id_of)), np.intp) for of in (old, new)]
    for first in range(0, len(labels), ROWS):
        block = slice(first, first + ROWS)
        states = [of.states(block, columns) for of, columns in zip((labels, then), looked, strict=True)]
        for count, part, columns in zip(counts, states, looked, strict=True):
            for place, value in enumerate((RELEVANT, IRRELEVANT, UNKNOWN)):
                count[place, columns] += (part == value).sum(axis=0)
        was, now = (part[:, column] for part, column in zip(states, staying, strict=True))
        forgotten += int(((was != UNKNOWN) & (now == UNKNOWN)).sum())
        deduced += int(((was == UNKNOWN) & (now != UNKNOWN)).sum())
        turned += int(((was != UNKNOWN) & (now != UNKNOWN) & (was != now)).sum())
    told = zip(names([one.item for one in torn[:LISTED]]), torn, strict=False)
    return Outlook(
        said=said,
        taxonomy=_tree(old, new),
        rows=_rows(old, new, counts),
        answers_leave=int((answered[0] & ~answered[1]).sum()),
        answers_return=int((answered[1] & ~answered[0]).sum()),
        claims_leave=int((claimed[0] & ~claimed[1]).sum()),
        claims_return=int((claimed[1] & ~claimed[0]).sum()),
        forgotten=forgotten,
        deduced=deduced,
        turned=turned,
        contradictions=len(torn),
        torn=[(name, str(one).split(": ", 1)[1]) for name, one in told],
    )


def _tree(old: Contents, new: Contents) -> str:
    """The new taxonomy, as far as it tells what changes."""
    taxonomy = new.taxonomy
    if len(taxonomy) <= WHOLE:
        return str(taxonomy)
    changed = [
        n for n in taxonomy.preorder.tolist() if _said(new, n) != _said(old, old.number_of.get(int(new.id_of[n])))
    ]
    gone = [number for stable, number in old.number_of.items() if stable not in new.number_of]
    left = {_above(old, number) for number in gone}
    shown: set[int] = set()
    for concept in changed[:LISTED]:
        parent = taxonomy.parent(concept)
        siblings = (taxonomy.roots if parent < 0 else taxonomy.children(parent)).tolist()
        place = siblings.index(concept)
        shown.update(siblings[max(0, place - BESIDE) : place + BESIDE + 1], taxonomy.ancestors(concept).tolist())
    for concept in (new.number_of[stable] for stable in left if stable in new.number_of):
        shown.update([concept], taxonomy.children(concept)[:BESIDE].tolist(), taxonomy.ancestors(concept).tolist())
    return taxonomy.tree(only=shown)


def only_names(old: Contents, new: Contents) -> bool:
    """Whether two contents differ by names and descriptions alone: then all labels stay."""
    same = old.id_of.tolist() == new.id_of.tolist() and old.merged == new.merged
    return same and old.taxonomy.form == new.taxonomy.form


def _rows(old: Contents, new: Contents, counts: Sequence[Index]) -> list[Row]:
    """The concepts of which something is different, in the order of the trees."""

    def of(contents: Contents, number: int | None, counted: Index) -> tuple[str | None, Counts | None]:
        if number is None:
            return None, None
        yes, no, unknown = counted[:, number].tolist()
        return contents.taxonomy.path(number), (yes, no, unknown)

    order = [int(new.id_of[n]) for n in new.taxonomy.preorder]
    order += [stable for n in old.taxonomy.preorder if (stable := int(old.id_of[n])) not in new.number_of]
    rows = []
    for stable in order:
        was, now = old.number_of.get(stable), new.number_of.get(stable)
        (before_path, before), (path, after) = of(old, was, counts[0]), of(new, now, counts[1])
        if before != after or _name(old, was) != _name(new, now):
            rows.append(Row(before_path, path, before, after))
    return rows


def _name(contents: Contents, number: int | None) -> tuple[str, int] | None:
    """What a concept is called, and below what it stands."""
    if number is None:
        return None
    return contents.taxonomy.names[number], _above(contents, number)


def _above(contents: Contents, number: int) -> int:
    """The id of what a concept stands below, or -1."""
    parent = int(contents.taxonomy.parents[number])
    return int(contents.id_of[parent]) if parent >= 0 else -1


def _said(contents: Contents, number: int | None) -> tuple[Concept, int] | None:
    """All that is said of a concept, and below what it stands."""
    return (
        None if number is None else (replace(contents.taxonomy.concepts[number], parent=-1), _above(contents, number))
    )


def _held(contents: Contents, labels: Labels) -> list[tuple[Contradiction, Held]]:
    """All contradictions, each with what it is besides the names of concepts."""
    index, id_of = contents.taxonomy.index, contents.id_of
    return [
        (one, (one.item, frozenset((int(id_of[index(path)]), value) for path, value, _ in one.assertions)))
        for one in labels.contradictions()
    ]
