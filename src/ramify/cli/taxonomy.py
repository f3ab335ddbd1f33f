"""Commands that show and change the taxonomy of a project."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.base import PROJECT, app
from ramify.cli.options import Folder

if TYPE_CHECKING:
    from ramify.project.store.outlook import Outlook

taxonomy = typer.Typer(
    help="Show and change the concepts of a project; every change can be tried first and taken back.",
    no_args_is_help=True,
)
app.add_typer(taxonomy, name="taxonomy", rich_help_panel=PROJECT)

One = Annotated[str, typer.Argument(metavar="CONCEPT", help="A concept, by name, alias or path.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would become of labels, and change nothing.")]
Below = Annotated[
    str | None, typer.Option(metavar="CONCEPT", help="The concept above.", show_default="none, it becomes a root")
]
FINER = "What it is divided into."
PREVIEW = "This is a preview: nothing was changed."
ONE_APPLIES = "One of the finer ones always applies."


@taxonomy.command()
def show(folder: Folder) -> None:
    """Print the concepts as a tree, and what was changed last."""
    from ramify.project.store.store import Store

    with Store(folder) as store:

        def note(number: int) -> str:
            concept = store.taxonomy.concepts[number]
            also = f"also {', '.join(concept.aliases)}" if concept.aliases else ""
            one = "one of these always applies" if concept.exhaustive else ""
            return "; ".join(part for part in (concept.description, also, one) if part)

        print(store.taxonomy.tree(note))
        if last := store.changes.last():
            print(f"\nLast change: {last[1]}. To take it back: ramify taxonomy undo {folder}")


@taxonomy.command()
def rename(
    folder: Folder,
    concept: One,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called from now on.")],
    dry_run: DryRun = False,
) -> None:
    """Call a concept otherwise; all that is said of it stays."""
    _change(folder, "rename", [concept], [name], dry_run)


@taxonomy.command()
def merge(
    folder: Folder,
    concepts: Annotated[list[str], typer.Argument(metavar="CONCEPT...", help="Concepts with the same parent.")],
    into: Annotated[str, typer.Option(metavar="NAME", help="What they are called together.")],
    dry_run: DryRun = False,
) -> None:
    """Make concepts one: yes where one of them was, no where all of them were."""
    _change(folder, "merge", concepts, [into], dry_run)


@taxonomy.command()
def move(folder: Folder, concept: One, below: Below = None, dry_run: DryRun = False) -> None:
    """Put a concept, with all below it, below another one; what is deduced is deduced anew."""
    _change(folder, "move", [concept], [], dry_run, below=below)


@taxonomy.command()
def add(
    folder: Folder,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The new concepts.")],
    below: Below = None,
    dry_run: DryRun = False,
) -> None:
    """Add concepts of which nothing is known yet."""
    _change(folder, "add", [] if below is None else [below], names, dry_run)


@taxonomy.command()
def remove(folder: Folder, concept: One, dry_run: DryRun = False) -> None:
    """Take a concept away with all below it; what is said of it is kept for an undo."""
    _change(folder, "remove", [concept], [], dry_run)


@taxonomy.command()
def split(
    folder: Folder,
    concept: One,
    finer: Annotated[list[str], typer.Argument(metavar="NAME...", help=FINER)],
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help=ONE_APPLIES)] = False,
    dry_run: DryRun = False,
) -> None:
    """Divide a fine concept; what is known of it stays known."""
    _change(folder, "split", [concept], finer, dry_run, exhaustive=exhaustive)


@taxonomy.command()
def describe(
    folder: Folder,
    concept: One,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it means; '' for nothing.")] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name, instead of those that it had; several times if needed."),
    ] = None,
    no_aliases: Annotated[bool, typer.Option("--no-aliases", help="It has no other name.")] = False,
    exhaustive: Annotated[
        bool | None, typer.Option("--exhaustive/--not-exhaustive", help=ONE_APPLIES, show_default="as it was")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Say something else of a concept: what it means, other names for it, whether one of the finer ones always applies.

    Names and descriptions are read again by the next training.
    """
    aliases = alias or ([] if no_aliases else None)
    said = {"description": description, "aliases": aliases, "exhaustive": exhaustive}
    _change(folder, "describe", [concept], [], dry_run, **said)


@taxonomy.command()
def undo(folder: Folder, dry_run: DryRun = False) -> None:
    """Take back the last change that stands; once more, and the one before it goes too."""
    from ramify.project.store.store import Store

    with Store(folder) as store:
        print(store.changes.undo(dry_run=dry_run))
        more = f" One change further back: ramify taxonomy undo {folder}" if store.changes.last() else ""
    print(f"\n{PREVIEW}" if dry_run else f"\nNext: ramify train {folder}.{more}")


@app.command("split", rich_help_panel=PROJECT)
def old_split(
    folder: Folder,
    concept: Annotated[str, typer.Argument(help="A fine concept, by name or path.")],
    finer: Annotated[list[str], typer.Argument(help=FINER)],
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help=ONE_APPLIES)] = False,
) -> None:
    """Divide a fine concept into finer ones: now `ramify taxonomy split`."""
    print("`ramify split` is now `ramify taxonomy split`, with the same arguments.", file=sys.stderr)
    _change(folder, "split", [concept], finer, False, exhaustive=exhaustive)


def _change(folder: Path, kind: Any, concepts: Sequence[str], names: Sequence[str], dry_run: bool, **said: Any) -> None:
    from ramify.project.store.changes import Change
    from ramify.project.store.store import Store

    with Store(folder) as store:
        _tell(folder, store.changes.change(Change(kind, concepts, names, **said), dry_run=dry_run), dry_run)


def _tell(folder: Path, done: "Outlook", dry_run: bool) -> None:
    print(done)
    if dry_run:
        print(f"\n{PREVIEW}")
    else:
        print(f"\nNext: ramify train {folder}. To take it back: ramify taxonomy undo {folder}")
