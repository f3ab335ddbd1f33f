"""Changing: the taxonomy of a project while it is served, with a store of its own as any command has it."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from ramify.project.live.shapes import ConceptId, Request, Shape
from ramify.project.store.changes import Change, Kind
from ramify.project.store.outlook import Counts, Outlook, Row
from ramify.project.store.store import Store

MOST = 100  # concepts named in one change
LONGEST = 4000  # characters of a description
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TaxonomyChange(Request):
    """A change of the taxonomy: which parts are needed depends on its kind."""

    kind: Kind
    concepts: list[ConceptId] = Field(
        default=[], max_length=MOST, description="What it is done to; of `add` the one above, if not the top."
    )
    names: list[Name] = Field(default=[], max_length=MOST, description="The new name, or names.")
    below: ConceptId | None = Field(None, description="Where `move` puts it; null: it becomes a root.")
    description: str | None = Field(None, max_length=LONGEST)
    aliases: list[Name] | None = Field(None, max_length=MOST)
    exhaustive: bool | None = Field(None, description="Whether one of the finer concepts always applies.")
    dry_run: bool = Field(False, description="Only tell what would become of labels.")


class TaxonomyUndo(Request):
    """Takes back the last change of the taxonomy that stands."""

    change: int | None = Field(None, description="The one that is meant, as it was last seen: no other is taken back.")
    dry_run: bool = False


class Counted(Shape):
    """How many items are yes, no and unknown."""

    yes: int
    no: int
    unknown: int


class ChangedConcept(Shape):
    """What becomes of a concept; null where it is not there."""

    before_path: str | None
    path: str | None
    before: Counted | None
    after: Counted | None


class TaxonomyOutlook(Shape):
    """What a change of the taxonomy does, or did."""

    said: str = Field(description="The change, in words.")
    told: list[str] = Field(description="What becomes of labels and answers, in sentences.")
    concepts: list[ChangedConcept] = Field(description="Those that come, go, or of which something is different.")
    done: bool


class LastChange(Shape):
    """What an undo would take back."""

    change: int | None = Field(description="Its number.")
    said: str | None


def change_taxonomy(folder: Path, wanted: TaxonomyChange) -> TaxonomyOutlook:
    """Change the taxonomy, or tell what this would do. Concepts are given by stable ids, the paths are told back."""
    with Store(folder) as store:

        def number(concept: int) -> int:
            if concept not in store.number_of:
                raise store.no_concept(concept)
            return store.number_of[concept]

        said = wanted.model_dump(include={"description", "aliases", "exhaustive"})
        below = None if wanted.below is None else number(wanted.below)
        change = Change(wanted.kind, [number(concept) for concept in wanted.concepts], wanted.names, below, **said)
        return _told(store.changes.change(change, dry_run=wanted.dry_run), wanted.dry_run)


def undo_taxonomy(folder: Path, wanted: TaxonomyUndo) -> TaxonomyOutlook:
    """Take back the last change, or tell what this would do."""
    with Store(folder) as store:
        return _told(store.changes.undo(wanted.change, dry_run=wanted.dry_run), wanted.dry_run)


def _told(outlook: Outlook, dry_run: bool) -> TaxonomyOutlook:
    return TaxonomyOutlook(
        said=f"{outlook.said[0].upper()}{outlook.said[1:]}.",
        told=outlook.lines(),
        concepts=[_concept(row) for row in outlook.rows],
        done=not dry_run,
    )


def _concept(row: Row) -> ChangedConcept:
    def counted(counts: Counts | None) -> Counted | None:
        return None if counts is None else Counted(yes=counts[0], no=counts[1], unknown=counts[2])

    return ChangedConcept(
        before_path=row.before_path, path=row.path, before=counted(row.before), after=counted(row.after)
    )
