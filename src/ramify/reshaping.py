"""Reshaping: how a forest of concepts becomes another one, and where each concept then stands.

What a change makes untrue is taken back with it: a concept that loses a child is no longer exhaustive, since nothing
says that the others are all there is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ramify.concepts import ALIKE, ARROW, Concept, loose_name
from ramify.errors import RamifyError


@dataclass
class Draft:
    """Concepts that are being changed. Parents are places in the list, ranks order siblings."""

    concepts: list[Concept]
    ranks: list[int]
    into: dict[int, int] = field(default_factory=dict)
    """What is gone, and the concept that it became part of, or -1."""

    def finished(self) -> tuple[list[Concept], list[int], list[int]]:
        """The concepts that are left with their ranks, and the place of each that was there or came; -1: it is gone.

        >>> Draft([Concept("cat", 1), Concept("animal"), Concept("food")], [1, 0, 2], {1: 2}).finished()[2]
        [0, 1, 1]
        """
        left = [number for number in range(len(self.concepts)) if number not in self.into]
        place = {-1: -1} | {number: position for position, number in enumerate(left)}
        for number in self.into:
            known = number
            while known in self.into:
                known = self.into[known]
            place[number] = place[known]
        concepts = [replace(self.concepts[n], parent=place[self.concepts[n].parent]) for n in left]
        return concepts, [self.ranks[n] for n in left], [place[n] for n in range(len(self.concepts))]

    def path(self, number: int) -> str:
        """As people read it."""
        names = [self.concepts[number].name]
        while (number := self.concepts[number].parent) >= 0:
            names.append(self.concepts[number].name)
        return ARROW.join(reversed(names))

    def children(self, parent: int) -> list[int]:
        """What is directly below a concept, or (-1) the roots."""
        return [n for n, concept in enumerate(self.concepts) if concept.parent == parent and n not in self.into]

    def below(self, number: int) -> list[int]:
        """Everything below a concept."""
        children = self.children(number)
        return [*children, *(deeper for child in children for deeper in self.below(child))]

    def check_free(self, name: str, parent: int, but: Sequence[int] = ()) -> None:
        """Refuse a name that another concept beside bears, or that files could mean it by."""
        if not name.strip():
            raise RamifyError("an empty name is no name: give the concept one that can be seen")
        where = f"below {self.path(parent)!r}" if parent >= 0 else "among the roots"
        beside = [self.concepts[n].name for n in self.children(parent) if n not in but]
        if name in beside:
            raise RamifyError(f"there is a concept {name!r} {where} already: give another name, or merge them")
        alike = next((other for other in beside if loose_name(other) == loose_name(name)), None)
        if alike is not None:
            raise RamifyError(f"{name!r} and {alike!r} {where} {ALIKE}: give another name, or merge them")

    def put_below(self, parent: int, names: Iterable[str]) -> None:
        """New concepts, the last ones of their siblings."""
        for name in names:
            self.check_free(name, parent)
            self.concepts.append(Concept(name, parent))
            self.ranks.append(1 + max(self.ranks, default=0))

    def lost_child(self, parent: int) -> None:
        """A concept is not what it was any more: it need not have one of the children that are left."""
        if parent >= 0:
            self.concepts[parent] = replace(self.concepts[parent], exhaustive=False)


def rename(draft: Draft, number: int, name: str) -> None:
    """Call a concept otherwise."""
    concept = draft.concepts[number]
    if name == concept.name:
        raise RamifyError(f"{draft.path(number)!r} is called {name!r} already")
    draft.check_free(name, concept.parent, but=[number])
    aliases = tuple(alias for alias in concept.aliases if alias != name)
    draft.concepts[number] = replace(concept, name=name, aliases=aliases)


def move(draft: Draft, number: int, parent: int) -> None:
    """Put a concept, with all below it, below another one, or (-1) among the roots."""
    concept = draft.concepts[number]
    if parent == number or parent in draft.below(number):
        raise RamifyError(
            f"{draft.path(number)!r} cannot be moved below {draft.path(parent)!r}, which is itself or lies below it"
        )
    if parent == concept.parent:
        where = f"directly below {draft.path(parent)!r}" if parent >= 0 else "a root"
        raise RamifyError(f"{draft.path(number)!r} is {where} already")
    draft.check_free(concept.name, parent)
    draft.lost_child(concept.parent)
    draft.concepts[number] = replace(concept, parent=parent)
    draft.ranks[number] = 1 + max(draft.ranks)


def remove(draft: Draft, number: int) -> None:
    """Take a concept away, with all below it."""
    gone = [number, *draft.below(number)]
    if len(gone) == len(draft.concepts):
        raise RamifyError(f"{draft.path(number)!r} is the last coarse concept: a taxonomy needs at least one")
    draft.lost_child(draft.concepts[number].parent)
    draft.into.update(dict.fromkeys(gone, -1))


def split(draft: Draft, number: int, finer: Sequence[str], *, exhaustive: bool) -> None:
    """Divide a fine concept."""
    if draft.children(number):
        raise RamifyError(f"{draft.path(number)!r} is split already: split one of its finer concepts")
    if not finer:
        raise RamifyError(f"splitting {draft.path(number)!r} needs at least one finer concept")
    draft.put_below(number, finer)
    draft.concepts[number] = replace(draft.concepts[number], exhaustive=exhaustive)


def merge(draft: Draft, numbers: Sequence[int], name: str) -> None:
    """Make siblings one concept, at the place of the first, their children its own."""
    if len(numbers) < 2:
        raise RamifyError("merging needs at least two different concepts")
    members = [draft.concepts[number] for number in numbers]
    if len({member.parent for member in members}) > 1:
        paths = ", ".join(repr(draft.path(number)) for number in numbers)
        raise RamifyError(f"only concepts with the same parent can be merged, not {paths}")
    draft.check_free(name, members[0].parent, but=numbers)
    aliases = tuple(dict.fromkeys(alias for member in members for alias in member.aliases if alias != name))
    exhaustive = all(member.exhaustive and draft.children(n) for n, member in zip(numbers, members, strict=True))
    for other in numbers[1:]:
        for child in draft.children(other):
            draft.check_free(draft.concepts[child].name, numbers[0])
            draft.concepts[child] = replace(draft.concepts[child], parent=numbers[0])
        draft.into[other] = numbers[0]
    draft.concepts[numbers[0]] = replace(members[0], name=name, aliases=aliases, exhaustive=exhaustive)


def describe(
    draft: Draft, number: int, description: str | None, aliases: Sequence[str] | None, exhaustive: bool | None
) -> None:
    """Say something else of a concept; what is None stays."""
    concept = draft.concepts[number]
    if exhaustive and not draft.children(number):
        raise RamifyError(f"{draft.path(number)!r} has no finer concepts, of which one would always apply")
    said = {"description": description, "aliases": None if aliases is None else tuple(dict.fromkeys(aliases))}
    new = {key: value for key, value in {**said, "exhaustive": exhaustive}.items() if value is not None}
    if not new:
        raise RamifyError(f"nothing new is said of {draft.path(number)!r}: give a description, aliases or exhaustive")
    draft.concepts[number] = replace(concept, **new)  # type: ignore[arg-type]  # by their names
