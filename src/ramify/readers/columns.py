"""Which column of a table is what: ids, texts, pictures, lists of labels, concepts of yes and no, or nothing."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, WORDS
from ramify.readers.rows import NAMELESS, Rows, as_text, is_empty
from ramify.taxonomy import Taxonomy

PICTURE_COLUMNS = ("picture", "image", "path")
LABEL_COLUMNS = ("labels", "coarse_labels", "fine_labels")
WRITTEN = (  # tables that Ramify writes with a row for each entry: their columns, by what, and what to do
    (
        {"id", "concept", "state", "source"},
        "`ramify export` writes it: items need a row each (`ramify export --format wide`)",
    ),
    (
        {"id", "concept", "probability", "chosen"},
        "`ramify predict --top` writes it: items need a row each (`ramify predict` without --top)",
    ),
    (
        {"seq", "annotator", "id", "concept", "answer", "undone"},
        "`ramify export --events` writes it: answers are taken in by `ramify answer`",
    ),
)
VALUES = {
    **dict.fromkeys([WORDS[RELEVANT], "1", "y", "true", "t"], RELEVANT),
    **dict.fromkeys([WORDS[IRRELEVANT], "0", "n", "false", "f"], IRRELEVANT),
    **dict.fromkeys([WORDS[UNKNOWN], "-1", "?"], UNKNOWN),
}


def refuse_entries(rows: Rows, ignore: Sequence[str] = ()) -> None:
    """Refuse a table that Ramify wrote with a row for each entry: its rows are no items."""
    for columns, how in WRITTEN:
        if columns <= set(rows.columns) and not columns & {*ignore}:
            raise RamifyError(f"{rows.path}: it has a row for each entry, as {how}")


@dataclass(frozen=True)
class Layout:
    """Which column is what, where the names do not say it themselves, and how lists of labels are read."""

    id: str | None = "id"
    """The column of the items' ids; None where there is none: then the numbers of the rows are."""
    text: str | None = None
    """The column of texts; None for ``text``, where there is one."""
    picture: str | None = None
    """The column of the pictures' paths; None for ``picture``, ``image`` or ``path``, where there is one."""
    ignore: tuple[str, ...] = ()
    """Columns that are not read."""
    labels: tuple[str, ...] = ()
    """Columns that list labels; none for ``labels``, ``coarse_labels`` and ``fine_labels``, where they are."""
    separator: str | None = None
    """What stands between the labels of a list; None for the first of ``;``, ``|`` and ``,`` that it holds."""
    partial: bool = False
    """Coarse concepts that a list of labels does not name are unknown instead of irrelevant."""
    complete: bool = False
    """Where a list names a finer concept, those beside it that it does not name are irrelevant instead of unknown."""

    def options(self) -> list[str]:
        """What one says on the command line to have a table read so, where it is not the default.

        >>> Layout("file", picture="file", labels=("kind of thing",)).options()
        ['--id', 'file', '--picture', 'file', '--labels', "'kind of thing'"]
        """
        said: list[tuple[str, str | None]] = [("--text", self.text), ("--picture", self.picture)]
        said += [("--labels", name) for name in self.labels]
        if self.id != "id":
            said.insert(0, ("--id", self.id))
        return [part for option, name in said if name is not None for part in (option, shlex.quote(name))]


def yes_or_no(value: Any) -> int | None:
    """1 relevant, 0 irrelevant, -1 unknown, None for anything else.

    >>> yes_or_no("Yes"), yes_or_no(0), yes_or_no(True), yes_or_no(""), yes_or_no("cat")
    (1, 0, 1, -1, None)
    """
    if is_empty(value):
        return UNKNOWN
    return VALUES.get((as_text(value) or "").lower())


@dataclass
class Roles:
    """What each column of a file holds."""

    text: str | None = None
    picture: str | None = None
    lists: list[str] = field(default_factory=list)
    concepts: dict[int, str] = field(default_factory=dict)
    """The column of each concept that has one of its own."""
    ignored: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Rows, taxonomy: Taxonomy, layout: Layout) -> "Roles":
        """By the names of the columns and what the layout says; what looks like a misspelt concept is refused."""
        names = list(rows.columns)
        listed = ", ".join(map(repr, names))
        wanted = {"--id": layout.id, "--text": layout.text, "--picture": layout.picture}
        for option, name in [*wanted.items(), *(("--labels", name) for name in layout.labels)]:
            if name is not None and name not in names:
                raise RamifyError(f"{rows.path}: there is no column {name!r}, only {listed}: name it with {option}")
        roles = cls(
            layout.text or next((name for name in names if name == "text"), None),
            layout.picture or next((name for name in PICTURE_COLUMNS if name in names), None),
            list(layout.labels) or [name for name in LABEL_COLUMNS if name in names],
        )
        taken = {layout.id, roles.text, roles.picture, *roles.lists}
        refuse_entries(rows, layout.ignore)
        for name in names:
            if name in layout.ignore:
                roles.ignored.append(name)
            elif name not in taken:
                roles._add_label_column(rows, taxonomy, name)
        return roles

    def _add_label_column(self, rows: Rows, taxonomy: Taxonomy, name: str) -> None:
        if not taxonomy.called(name):
            if not name.startswith(NAMELESS) and says_yes_or_no(rows.columns[name]):
                near = taxonomy.nearest(name)
                meant = "correct the name" if near is None else f"correct the name (did you mean {near!r}?)"
                raise RamifyError(
                    f"{rows.path}, column {name!r}: it holds yes and no, but no concept has this name: "
                    f"{meant}, or say --ignore {name!r}"
                )
            self.ignored.append(name)
            return
        try:
            number = taxonomy.index(name)
        except RamifyError as error:
            raise RamifyError(f"{rows.path}, column {name!r}: {error}") from None
        if number in self.concepts:
            raise RamifyError(
                f"{rows.path}: the columns {self.concepts[number]!r} and {name!r} are both "
                f"{taxonomy.path(number)!r}: keep one"
            )
        self.concepts[number] = name


def says_yes_or_no(values: Sequence[Any]) -> bool:
    """Whether a column holds nothing but yes, no and empty cells: then it speaks of one concept.

    >>> says_yes_or_no(["yes", "", "no"]), says_yes_or_no(["", ""]), says_yes_or_no(["yes", "cat"])
    (True, False, False)
    """
    said = [yes_or_no(value) for value in values]
    return None not in said and any(value != UNKNOWN for value in said)
