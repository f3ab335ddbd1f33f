"""Changes: how the taxonomy of a project becomes another one, all or nothing, and back.

What is said of a concept belongs to its stable id, and every id is kept: a change says which ids are there from now on,
and which were merged into which. So labels always follow from the events and the import alone, whatever changes and
undoings lie between; nothing is worked out once and then carried along.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from sqlalchemy import Connection, delete, func, select

from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.project.store.claims import Claims
from ramify.project.store.consensus import Consensus
from ramify.project.store.items import MERGED, Contents, Items, get, put, put_taxonomy
from ramify.project.store.outlook import Outlook, only_names, outlook
from ramify.project.store.revisions import OutdatedError, measure, name_files, new_number, next_contents
from ramify.project.store.schema import changes, concepts, leases
from ramify.project.store.troubles import intact
from ramify.taxonomy import ConceptRef, Taxonomy

Kind: TypeAlias = Literal["rename", "merge", "move", "add", "remove", "split", "describe"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_undoing = changes.alias("undoing")
LAST = (
    select(changes.c.seq, changes.c.said, changes.c.before)
    .where(changes.c.undoes.is_(None), ~select(_undoing.c.seq).where(_undoing.c.undoes == changes.c.seq).exists())
    .order_by(changes.c.seq.desc())
    .limit(1)
)


@dataclass(frozen=True)
class Change:
    """What is to be done with the taxonomy; which parts are needed depends on the kind."""

    kind: Kind
    concepts: Sequence[ConceptRef] = ()
    """What it is done to: one, or those that are merged; of ``add`` what the new ones go below, if not the top."""
    names: Sequence[str] = ()
    """The new name, or names."""
    below: ConceptRef | None = None
    """Where ``move`` puts it; None: among the roots."""
    description: str | None = None
    aliases: Sequence[str] | None = None
    exhaustive: bool | None = None
    """What ``describe`` says; also of what is split."""

    def on(self, taxonomy: Taxonomy) -> tuple[Taxonomy, "np.ndarray[Any, np.dtype[np.intp]]", str]:
        """The new taxonomy, the number in it of each old concept (-1: it goes), and what was done, in words.

        >>> Change("rename", ["dog"], ["hound"]).on(Taxonomy({"animal": ["cat", "dog"]}))[2]
        "'animal > dog' is renamed to 'hound'"
        """
        if self.kind not in KINDS:
            raise RamifyError(f"a change of the taxonomy is {', '.join(KINDS)}, not {self.kind!r}")
        numbers = [taxonomy.index(concept) for concept in self.concepts]
        if self.kind not in ("merge", "add") and len(numbers) != 1:
            raise RamifyError(f"to {self.kind} takes one concept, not {len(numbers)}")
        if self.kind == "add" and len(numbers) > 1:
            raise RamifyError(f"to add takes at most one concept to go below, not {len(numbers)}")
        if self.kind in ("merge", "rename") and len(self.names) != 1:
            raise RamifyError(f"to {self.kind} takes one new name, not {len(self.names)}")
        about = [repr(taxonomy.path(number)) for number in numbers]
        named = ", ".join(map(repr, self.names))
        if self.kind == "rename":
            return *taxonomy.rename(numbers[0], self.names[0]), f"{about[0]} is renamed to {named}"
        if self.kind == "merge":
            return *taxonomy.merge(numbers, self.names[0]), f"{' and '.join(about)} are merged into {named}"
        if self.kind == "move":
            below = None if self.below is None else taxonomy.index(self.below)
            where = "among the roots" if below is None else f"below {taxonomy.path(below)!r}"
            return *taxonomy.move(numbers[0], below), f"{about[0]} is moved {where}"
        if self.kind == "add":
            where = f"below {about[0]}" if numbers else "among the roots"
            return *taxonomy.add(
                self.names, numbers[0] if numbers else None
            ), f"{named} {'is' if len(self.names) == 1 else 'are'} added {where}"
        if self.kind == "remove":
            more = len(taxonomy.descendants(numbers[0]))
            below_it = (
                f" with the {more} concepts below it" if more > 1 else " with the concept below it" if more else ""
            )
            return *taxonomy.remove(numbers[0]), f"{about[0]} is removed{below_it}"
        if self.kind == "split":
            exhaustive = bool(self.exhaustive)
            return *taxonomy.split(numbers[0], self.names, exhaustive=exhaustive), f"{about[0]} is split into {named}"
        described = taxonomy.describe(numbers[0], self.description, aliases=self.aliases, exhaustive=self.exhaustive)
        return *described, f"{about[0]} is described anew"


@dataclass(frozen=True)
class Next:
    """What is to be there from now on."""

    taxonomy: Taxonomy
    ids: list[int | None]
    """The id of each concept, None for a new one."""
    merged: dict[int, tuple[int, ...]]
    """What was merged into what before."""
    said: str
    joined: tuple[int, ...] = ()
    """The ids that are merged now, into the one new concept."""
    undoes: int | None = None

    def merged_with(self, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """What is merged into what, once the new concepts have their ids."""
        new = [stable for stable, known in zip(ids, self.ids, strict=True) if known is None]
        return {**self.merged, new[0]: self.joined} if self.joined else self.merged


Plan: TypeAlias = Callable[[Contents], Next]


def planned(contents: Contents, change: Change) -> Next:
    """What a change makes of some contents."""
    taxonomy, moved, said = change.on(contents.taxonomy)
    parts: dict[int, list[int]] = {}
    for old, new in enumerate(moved.tolist()):
        parts.setdefault(new, []).append(int(contents.id_of[old]))
    ids = [parts[new][0] if len(parts.get(new, ())) == 1 else None for new in range(len(taxonomy))]
    joined = next((tuple(members) for new, members in parts.items() if new >= 0 and len(members) > 1), ())
    return Next(taxonomy, ids, dict(contents.merged), said, joined)


class Changes:
    """The part of a store that changes the taxonomy."""

    def __init__(self, items: Items, consensus: Consensus) -> None:
        self.items, self.consensus, self.database = items, consensus, items.database

    def change(self, change: Change, *, dry_run: bool = False) -> Outlook:
        """Change the taxonomy, and say what becomes of labels; with ``dry_run`` only say it."""
        shown = self.items.contents.taxonomy  # in which numbers mean something
        self.items.refresh()
        taxonomy = self.items.contents.taxonomy

        def path(concept: ConceptRef) -> str:
            return taxonomy.path(concept if isinstance(concept, str) else shown.path(concept))

        below = None if change.below is None else path(change.below)
        change = replace(change, concepts=[path(concept) for concept in change.concepts], below=below)
        return self._carry_out(lambda contents: planned(contents, change), dry_run)

    def undo(self, change: int | None = None, *, dry_run: bool = False) -> Outlook:
        """Take back the last change that stands: all is as if it had not been, also for answers given since.

        ``change`` is the number of the one that is meant, as ``last`` gave it: another one is not taken back.
        """
        return self._carry_out(lambda contents: self._back(change), dry_run)

    def last(self) -> tuple[int, str] | None:
        """The last change that stands: its number, and what it was, in words."""
        with self.database.read() as connection, intact("the list of changes"):
            row = connection.execute(LAST).one_or_none()
            return None if row is None else (int(row.seq), str(row.said))

    def changed(self) -> float:
        """When the taxonomy was changed last, or a change taken back; 0 before the first."""
        with self.database.read() as connection, intact("the list of changes"):
            return float(connection.execute(select(func.coalesce(func.max(changes.c.at), 0))).scalar_one())

    def ids_of(self, taxonomy: Taxonomy) -> list[int] | None:
        """The ids that the concepts of a taxonomy have which the project has, or had last; None where it never had."""
        contents = self.items.contents
        if taxonomy == contents.taxonomy:
            return [int(stable) for stable in contents.id_of]
        with self.database.read() as connection, intact("the list of changes"):
            for (text,) in connection.execute(select(changes.c.before).order_by(changes.c.seq.desc())):
                before = json.loads(text)
                if len(taxonomy) == len(before["ids"]) and taxonomy == Taxonomy(before["taxonomy"]):  # which is slow
                    return list(before["ids"])
        return None

    def _back(self, meant: int | None) -> Next:
        with self.database.read() as connection:
            row = connection.execute(LAST).one_or_none()
        if meant is not None and (row is None or row.seq != meant):
            raise RamifyError(
                "this is not the last change of the taxonomy any more: look at what would be taken back now"
            )
        if row is None:
            raise RamifyError(f"the taxonomy of {self.items.folder} has not been changed: there is nothing to undo")
        with intact("the list of changes"):
            before = json.loads(row.before)
            merged = {int(stable): tuple(parts) for stable, parts in before[MERGED].items()}
            said = f"taken back: {row.said}"
            return Next(Taxonomy(before["taxonomy"]), list(before["ids"]), merged, said, undoes=int(row.seq))

    def _carry_out(self, plan: Plan, dry_run: bool) -> Outlook:
        if not dry_run:
            self.database.check_writable()
        while True:
            self.items.refresh()
            contents = self.items.contents
            with suppress(OutdatedError), disk_troubles(self.items.folder, "nothing was changed"):
                claims = self.items.claims()
                if self.items.contents is not contents:
                    raise OutdatedError
                future = plan(contents)
                told = self._outlook(contents, claims, future)
                if not dry_run:
                    self._put(contents, claims, future)
                    self.items.refresh()
                return told

    def _outlook(self, contents: Contents, claims: Claims, future: Next) -> Outlook:
        with self.database.read() as connection:
            free = 1 + int(connection.execute(select(func.max(concepts.c.id))).scalar_one())
        ids = np.array([free + n if stable is None else stable for n, stable in enumerate(future.ids)], np.intp)
        merged = future.merged_with(ids.tolist())
        after = replace(contents, taxonomy=future.taxonomy, id_of=ids, merged=merged)
        now, then = self.consensus.known(contents, _copy(claims)), None
        if not only_names(contents, after):
            then = self.consensus.known(after, _copy(claims.carried(contents.id_of, future.taxonomy, ids)))
        return outlook(future.said, contents, after, claims, now, then, self.consensus.ledger().live, self._names)

    def _names(self, numbers: list[int]) -> list[str]:
        name_of = {item.number: item.id for item in self.items.items(sorted(set(numbers)))}
        return [name_of[number] for number in numbers]

    def _put(self, contents: Contents, claims: Claims, future: Next) -> None:
        """Write the new files, then let one transaction make everything new."""
        none_yet = -1 - np.arange(len(future.ids))  # no claim is about these
        ids = np.array([n if stable is None else stable for n, stable in zip(none_yet, future.ids, strict=True)])
        with new_number(self.items) as number:
            name = f"imported-{number}.npz"
            claims.carried(contents.id_of, future.taxonomy, ids).save(self.items.folder / name)
            sums = measure(self.items, {"imported": name})
            with next_contents(self.items, contents) as connection:
                self._note(connection, contents, future)
                put_ids = put_taxonomy(connection, future.taxonomy, future.ids)
                put(connection, MERGED, future.merged_with(put_ids))
                name_files(connection, {"imported": name}, sums)
                connection.execute(delete(leases).where(leases.c.concept.not_in(put_ids)))

    def _note(self, connection: Connection, contents: Contents, future: Next) -> None:
        before = {
            "taxonomy": get(connection, "taxonomy"),
            "ids": contents.id_of.tolist(),
            MERGED: get(connection, MERGED, {}),
        }
        noted = {"at": time.time(), "said": future.said, "before": json.dumps(before), "undoes": future.undoes}
        connection.execute(changes.insert().values(noted))


def _copy(claims: Claims) -> Claims:
    return claims.with_labels(claims.labels.copy())
