"""Naming: which concepts somebody may mean by what they wrote."""

import difflib
from collections.abc import Sequence

from ramify.concepts import Concept, loose_name


class Names:
    """By what concepts can be found: their paths, names and aliases.

    >>> names = Names(["animal > cat", "animal"], [Concept("cat", 1, aliases=("puss",)), Concept("animal")])
    >>> names.called("Puss"), names.called("Animal>cat"), names.nearest("anmial")
    ([0], [0], 'animal')
    """

    def __init__(self, paths: Sequence[str], concepts: Sequence[Concept]) -> None:
        self._by_path = {path: number for number, path in enumerate(paths)}
        self._by_name: dict[str, list[int]] = {}
        for number, concept in enumerate(concepts):
            for name in (concept.name, *concept.aliases):
                self._by_name.setdefault(name, []).append(number)
        self._by_loose_name: dict[str, list[int]] = {}
        for exact in (self._by_name, {path: [number] for path, number in self._by_path.items()}):
            for name, meant in exact.items():
                known = self._by_loose_name.setdefault(loose_name(name), [])
                known.extend(number for number in meant if number not in known)

    def called(self, name: str) -> list[int]:
        """The numbers of the concepts that may be meant: by a full path one, by a name or alias all that bear it."""
        if name in self._by_path:
            return [self._by_path[name]]
        return self._by_name.get(name) or self._by_loose_name.get(loose_name(name), [])

    def nearest(self, name: str) -> str | None:
        """The name of a concept that somebody may have meant who wrote a name that none has."""
        names = {loose_name(known): known for known in [*self._by_path, *self._by_name]}
        close = difflib.get_close_matches(loose_name(name), names, n=1)
        return names[close[0]] if close else None
