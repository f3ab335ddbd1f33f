"""Taxonomy: a forest of named concepts. Roots are coarse, leaves are fine, any depth lies between."""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml
from numpy.typing import NDArray

from ramify import reshaping
from ramify.concepts import ARROW, Concept, check_forest, file_format, parse, read_file, take_templates
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.label_config import config_of
from ramify.naming import Names
from ramify.outline import nested, tree_text
from ramify.reshaping import Draft

__all__ = ["ConceptRef", "Index", "Taxonomy"]

Index: TypeAlias = NDArray[np.intp]
ConceptRef: TypeAlias = int | np.integer[Any] | str | Sequence[str]


class Taxonomy:
    """A forest of concepts, numbered with the fine ones first, so that a fine concept's number is its column.

    The ``tree`` maps names to their finer concepts: a list, or a mapping that may state attributes as files do.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
    >>> print(taxonomy)
    animal
    ├── cat
    └── dog
    food
    ├── apple
    └── banana
    >>> taxonomy.names
    ('cat', 'dog', 'apple', 'banana', 'animal', 'food')
    >>> taxonomy.index("dog"), taxonomy.path("dog")
    (1, 'animal > dog')
    >>> taxonomy.children("food").tolist()
    [2, 3]
    """

    concepts: tuple[Concept, ...]
    roots: Index
    """The coarse concepts."""
    preorder: Index
    """All concepts as they are read in the printed tree: each parent directly before its own branch."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._number(*parse(tree))

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> "Taxonomy":
        """Build from child -> parent pairs; a name that is nobody's child is a root.

        >>> print(Taxonomy.from_pairs({"cat": "animal", "dog": "animal"}))
        animal
        ├── cat
        └── dog
        """
        listed = list(pairs.items()) if isinstance(pairs, Mapping) else list(pairs)
        parent_of: dict[str, str] = {}
        for child, parent in listed:
            if child in parent_of:
                raise RamifyError(
                    f"the concept {child!r} has two parents, {parent_of[child]!r} and {parent!r}: keep one pair"
                )
            parent_of[child] = parent
        names = list(dict.fromkeys(name for child, parent in listed for name in (parent, child)))
        position = {name: number for number, name in enumerate(names)}
        parents = [position[parent_of[name]] if name in parent_of else -1 for name in names]
        return cls.from_arrays(names, parents)

    @classmethod
    def from_arrays(cls, names: Iterable[str], parents: Iterable[int], *, exhaustive: bool = False) -> "Taxonomy":
        """Build from names and the position of each one's parent (-1: a root); names may repeat on other paths.

        >>> print(Taxonomy.from_arrays(["people", "baby", "people"], [2, 2, -1]))
        people
        ├── people
        └── baby
        """
        names, parents = [str(name) for name in names], [int(parent) for parent in parents]
        if len(names) != len(parents):
            raise RamifyError(f"{len(names)} names but {len(parents)} parents: give one parent (or -1) for each name")
        return cls.of([Concept(n, p, exhaustive=exhaustive) for n, p in zip(names, parents, strict=True)])

    @classmethod
    def load(cls, path: str | Path) -> "Taxonomy":
        """Read a YAML or JSON file: a nested mapping, where a concept may state its description, aliases, exhaustive.

        A labelling config of Label Studio (.xml) is read as well: its choices are the concepts.

        Besides those keys (and ``children``, for concepts whose names are keys), every key is a finer concept; but a
        list called ``templates`` at the top says how names are read (``ramify.embed.names``), and is left out here.
        """
        try:
            return cls(take_templates(read_file(Path(path)))[0])
        except RamifyError as error:
            raise RamifyError(f"{path}: {error}") from None

    @classmethod
    def of(cls, concepts: Sequence[Concept]) -> "Taxonomy":
        """Build from concepts, whose parents are places in the same list."""
        return cls._numbered(concepts, range(len(concepts)))[0]

    @classmethod
    def _numbered(cls, concepts: Sequence[Concept], ranks: Sequence[int]) -> tuple["Taxonomy", Index]:
        """A taxonomy of these concepts, and the number that each has in it."""
        self = cls.__new__(cls)
        return self, self._number(concepts, ranks)

    def _number(self, concepts: Sequence[Concept], ranks: Sequence[int]) -> Index:
        """Take the concepts, leaves first and otherwise in the order given; return the new number of each.

        The ranks order siblings (and roots) where they are listed or printed.
        """
        check_forest(concepts)
        inner = {concept.parent for concept in concepts}
        order = sorted(range(len(concepts)), key=lambda number: number in inner)
        renumbered = np.empty(len(concepts), np.intp)
        renumbered[order] = np.arange(len(concepts))
        self.concepts = tuple(
            replace(concepts[old], parent=int(renumbered[concepts[old].parent]) if concepts[old].parent >= 0 else -1)
            for old in order
        )
        below: dict[int, list[int]] = {number: [] for number in range(-1, len(concepts))}
        for old in sorted(range(len(concepts)), key=ranks.__getitem__):
            below[self.concepts[renumbered[old]].parent].append(int(renumbered[old]))
        self.roots = np.array(below.pop(-1), np.intp)
        self._children = tuple(np.array(below[number], np.intp) for number in range(len(concepts)))
        self.preorder = np.array([n for root in self.roots for n in (root, *self._below(root))], np.intp)
        return renumbered

    def _below(self, number: int) -> list[int]:
        below: list[int] = []
        stack = self._children[number][::-1].tolist()
        while stack:
            below.append(child := stack.pop())
            stack.extend(self._children[child][::-1].tolist())
        return below

    # -- what stands where -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.concepts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Taxonomy)
            and self.concepts == other.concepts
            and self.preorder.tolist() == other.preorder.tolist()
        )

    def __hash__(self) -> int:
        return hash(self.concepts)

    def __repr__(self) -> str:
        return f"<Taxonomy: {len(self.roots)} coarse, {len(self.leaves)} fine, {len(self)} concepts>"

    def __str__(self) -> str:
        return self.tree()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every concept."""
        return tuple(concept.name for concept in self.concepts)

    @cached_property
    def parents(self) -> Index:
        """The parent of every concept, -1 for roots."""
        return np.array([concept.parent for concept in self.concepts], np.intp)

    @cached_property
    def exhaustive(self) -> NDArray[np.bool_]:
        """Whether a relevant concept must have a relevant child, for every concept."""
        return np.array([concept.exhaustive for concept in self.concepts], np.bool_)

    @cached_property
    def leaves(self) -> Index:
        """The fine concepts: 0, 1, ..., K - 1."""
        return np.arange(sum(not len(children) for children in self._children))

    @cached_property
    def root_of(self) -> Index:
        """The coarse concept that every concept lies below; of a coarse one, itself.

        >>> Taxonomy({"animal": {"dog": ["pug"]}}).root_of.tolist()
        [1, 1, 1]
        """
        return np.array([(*self.ancestors(number), number)[0] for number in range(len(self))], np.intp)

    @cached_property
    def families(self) -> tuple[tuple[tuple[Index, Index], ...], ...]:
        """Parents and their children (parents x children), level by level from the roots down.

        Parents of one level with equally many children stand together, so that whole levels are computed at once.

        >>> Taxonomy({"animal": {"dog": ["pug", "poodle"]}, "food": ["bread"]}).families[1]
        ((array([4]), array([[0, 1]])),)
        """
        levels, parents = [], self.roots
        while len(parents := np.array([number for number in parents if len(self._children[number])], np.intp)):
            sizes = np.array([len(self._children[number]) for number in parents])
            alike = [parents[sizes == size] for size in np.unique(sizes)]
            levels.append(tuple((some, np.stack([self._children[number] for number in some])) for some in alike))
            parents = np.concatenate([children.ravel() for _, children in levels[-1]])
        return tuple(levels)

    @property
    def form(self) -> tuple[list[int], list[int], list[bool]]:
        """All that it is besides names and what is said of concepts: parents, order, and what is exhaustive.

        >>> Taxonomy({"animal": ["cat"]}).form == Taxonomy({"food": ["apple"]}).form
        True
        """
        return self.parents.tolist(), self.preorder.tolist(), self.exhaustive.tolist()

    @cached_property
    def _ranks(self) -> list[int]:
        return [int(rank) for rank in np.argsort(self.preorder)]

    def parent(self, concept: ConceptRef) -> int:
        """The parent's number, -1 for a root."""
        return self.concepts[self.index(concept)].parent

    def children(self, concept: ConceptRef) -> Index:
        """The concepts directly below."""
        return self._children[self.index(concept)]

    def ancestors(self, concept: ConceptRef) -> Index:
        """All concepts above, the root first.

        >>> Taxonomy({"animal": {"dog": ["poodle"]}}).ancestors("poodle").tolist()
        [1, 2]
        """
        above: list[int] = []
        number = self.index(concept)
        while (number := self.concepts[number].parent) >= 0:
            above.append(number)
        return np.array(above[::-1], np.intp)

    def __contains__(self, concept: object) -> bool:
        """Whether there is such a concept: by name, path, alias or number.

        >>> "cat" in Taxonomy({"animal": ["cat"]}), "dog" in Taxonomy({"animal": ["cat"]})
        (True, False)
        """
        try:
            self.index(concept)  # type: ignore[arg-type]  # which says what it is not
        except RamifyError:
            return False
        return True

    def descendants(self, concept: ConceptRef) -> Index:
        """All concepts below, in the order of the printed tree."""
        return np.array(self._below(self.index(concept)), np.intp)

    def leaves_below(self, concept: ConceptRef) -> Index:
        """The fine concepts below, ascending; of a fine one, itself.

        >>> Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}}).leaves_below("dog").tolist()
        [1, 2]
        """
        below = np.array([self.index(concept), *self._below(self.index(concept))], np.intp)
        return np.sort(below[below < len(self.leaves)])

    def path(self, concept: ConceptRef) -> str:
        """The names from the root down to the concept, as people read them: ``animal > dog``."""
        number = self.index(concept)
        return ARROW.join(self.names[step] for step in [*self.ancestors(number), number])

    # -- finding a concept -------------------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> Names:
        return Names([self.path(number) for number in range(len(self))], self.concepts)

    def called(self, name: str) -> list[int]:
        """The concepts that may be meant: by a full path one, by a name or alias all that bear it.

        Where nothing is called exactly so, large and small letters are alike, and so are spaces, ``_`` and ``-``.

        >>> taxonomy = Taxonomy({"fruit": ["orange"], "colour": ["orange", "light blue"]})
        >>> taxonomy.called("fruit > orange"), taxonomy.called("orange"), taxonomy.called("blue")
        ([0], [0, 1], [])
        >>> taxonomy.called("Light_Blue"), taxonomy.called("Fruit>Orange")
        ([2], [0])
        """
        return self._names.called(name)

    def nearest(self, name: str) -> str | None:
        """The name of a concept that somebody may have meant who wrote a name that none has.

        >>> Taxonomy({"animal": ["cat", "dog"]}).nearest("Dgo")
        'dog'
        """
        return self._names.nearest(name)

    def index(self, concept: ConceptRef) -> int:
        """The number of a concept given as number, full path, name or alias.

        A full path always means one concept (a root's name is its path); a name that several others bear does not.

        >>> taxonomy = Taxonomy({"people": ["people", "baby"]})
        >>> taxonomy.index("people"), taxonomy.index("people > people"), taxonomy.index("baby")
        (2, 0, 1)
        """
        if isinstance(concept, int | np.integer) and not isinstance(concept, bool):
            if not 0 <= concept < len(self):
                raise RamifyError(f"there is no concept number {concept}: this taxonomy numbers 0 to {len(self) - 1}")
            return int(concept)
        if not isinstance(concept, str | tuple | list):
            raise RamifyError(f"a concept is given by number, name or path, not as {concept!r}")
        wanted = concept if isinstance(concept, str) else ARROW.join(concept)
        meant = self.called(wanted)
        if len(meant) > 1:
            paths = " or ".join(repr(self.path(number)) for number in meant)
            raise RamifyError(f"{len(meant)} concepts are called {wanted!r}: write its path, {paths}")
        if not meant:
            near = self.nearest(wanted)
            hint = f"its roots are {self._some_roots()}" if near is None else f"did you mean {near!r}?"
            raise RamifyError(f"there is no concept {wanted!r} in the taxonomy: {hint}")
        return meant[0]

    def indices(self, concepts: ConceptRef | Iterable[ConceptRef]) -> Index:
        """The numbers of many concepts, given as an array of numbers or as names.

        >>> Taxonomy({"animal": ["cat", "dog"]}).indices(["dog", "animal > cat"]).tolist()
        [1, 0]
        """
        if isinstance(concepts, np.ndarray) and np.issubdtype(concepts.dtype, np.integer):
            if concepts.size and not (concepts.min() >= 0 and concepts.max() < len(self)):
                outside = concepts[(concepts < 0) | (concepts >= len(self))].flat[0]
                self.index(outside)
            return concepts.astype(np.intp, copy=False)
        if isinstance(concepts, str | int | np.integer) or not isinstance(concepts, Iterable):
            return np.array(self.index(concepts), np.intp)
        return np.array([self.index(concept) for concept in concepts], np.intp)

    def _some_roots(self) -> str:
        names = [repr(self.names[root]) for root in self.roots[:5]]
        return ", ".join(names) + (", ..." if len(self.roots) > 5 else "")

    # -- change ------------------------------------------------------------------------------------------------------

    def not_exhaustive(self) -> "Taxonomy":
        """The same concepts with the same numbers, none of them declared exhaustive.

        >>> Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}}).not_exhaustive().to_dict()
        {'animal': {'children': {'cat': None, 'dog': None}}}
        """
        taxonomy = copy(self)
        taxonomy.concepts = tuple(replace(concept, exhaustive=False) for concept in self.concepts)
        vars(taxonomy).pop("exhaustive", None)  # what is cached of the old ones
        return taxonomy

    def split(self, concept: ConceptRef, finer: Iterable[str], *, exhaustive: bool = False) -> tuple["Taxonomy", Index]:
        """Refine a fine concept: the new taxonomy, and the new number of each old concept (for ``Labels.migrate``).

        All changes give these two; the number of what is gone is -1.

        >>> taxonomy, moved = Taxonomy({"animal": ["cat", "dog"]}).split("dog", ["poodle", "beagle"])
        >>> print(taxonomy)
        animal
        ├── cat
        └── dog
            ├── poodle
            └── beagle
        >>> moved.tolist()
        [0, 3, 4]
        """
        return self._changed(partial(reshaping.split, finer=list(finer), exhaustive=exhaustive), self.index(concept))

    def merge(self, concepts: Iterable[ConceptRef], name: str) -> tuple["Taxonomy", Index]:
        """Make siblings one concept, their children its own.

        >>> taxonomy, moved = Taxonomy({"animal": ["cat", "dog", "fish"]}).merge(["cat", "dog"], "pet")
        >>> print(taxonomy)
        animal
        ├── pet
        └── fish
        >>> moved.tolist()
        [0, 0, 1, 2]
        """
        merged = list(dict.fromkeys(self.index(concept) for concept in concepts))
        return self._changed(partial(reshaping.merge, name=name), merged)

    def rename(self, concept: ConceptRef, name: str) -> tuple["Taxonomy", Index]:
        """Call a concept otherwise.

        >>> Taxonomy({"animal": ["cat", "dog"]}).rename("dog", "hound")[0].names
        ('cat', 'hound', 'animal')
        """
        return self._changed(partial(reshaping.rename, name=name), self.index(concept))

    def move(self, concept: ConceptRef, below: ConceptRef | None) -> tuple["Taxonomy", Index]:
        """Put a concept, with all below it, below another one, or (None) among the roots.

        >>> print(Taxonomy({"animal": ["cat"], "food": ["apple", "bat"]}).move("bat", "animal")[0])
        animal
        ├── cat
        └── bat
        food
        └── apple
        """
        parent = -1 if below is None else self.index(below)
        return self._changed(partial(reshaping.move, parent=parent), self.index(concept))

    def add(self, names: Iterable[str], below: ConceptRef | None) -> tuple["Taxonomy", Index]:
        """New concepts below another one, or (None) among the roots.

        >>> Taxonomy({"animal": ["cat"]}).add(["dog"], "animal")[0].names
        ('cat', 'dog', 'animal')
        """
        listed = list(names)
        if not listed:
            raise RamifyError("adding needs at least one concept")
        return self._changed(partial(Draft.put_below, names=listed), -1 if below is None else self.index(below))

    def remove(self, concept: ConceptRef) -> tuple["Taxonomy", Index]:
        """Take a concept away, with all below it.

        >>> taxonomy, moved = Taxonomy({"animal": ["cat", "dog"]}).remove("cat")
        >>> taxonomy.names, moved.tolist()
        (('dog', 'animal'), [-1, 0, 1])
        """
        return self._changed(reshaping.remove, self.index(concept))

    def describe(
        self,
        concept: ConceptRef,
        description: str | None = None,
        *,
        aliases: Sequence[str] | None = None,
        exhaustive: bool | None = None,
    ) -> tuple["Taxonomy", Index]:
        """Say something else of a concept; what is None stays.

        >>> Taxonomy({"animal": ["cat"]}).describe("cat", aliases=["puss"])[0].index("puss")
        0
        """
        say = partial(reshaping.describe, description=description, aliases=aliases, exhaustive=exhaustive)
        return self._changed(say, self.index(concept))

    def _changed(self, change: Callable[..., None], about: int | list[int]) -> tuple["Taxonomy", Index]:
        draft = Draft(list(self.concepts), list(self._ranks))
        change(draft, about)
        concepts, ranks, places = draft.finished()
        taxonomy, numbers = Taxonomy._numbered(concepts, ranks)
        place = np.array(places[: len(self)], np.intp)
        return taxonomy, np.where(place >= 0, numbers[place], -1)

    # -- writing -----------------------------------------------------------------------------------------------------

    def tree(self, note: Callable[[int], str] = lambda number: "", *, only: Container[int] | None = None) -> str:
        """The forest as text, each line followed by what ``note`` says of the concept.

        With ``only`` the others are left out, with all below them; it is told how many stand in a place.
        """
        return tree_text(self.roots, self._children, self.names, note, only)

    def to_dict(self) -> dict[str, Any]:
        """The nested mapping that ``Taxonomy`` and ``Taxonomy.load`` read, without loss.

        >>> Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}}).to_dict()
        {'animal': {'children': {'cat': None, 'dog': None}, 'exhaustive': True}}
        """
        return nested(self.concepts, self.roots, self._children, self.preorder)

    def save(self, path: str | Path) -> None:
        """Write a YAML or JSON file, or a labelling config (.xml, about texts), by the ending of its name."""
        path = Path(path)
        kind = file_format(path)
        if kind == "xml":
            text = config_of(self.to_dict(), "text")
        elif kind == "json":
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        else:
            text = yaml.safe_dump(self.to_dict(), allow_unicode=True, sort_keys=False)
        with whole_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
