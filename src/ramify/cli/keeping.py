"""Commands on a project as a whole: check, backup, restore, move."""

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli.base import PROJECT, app
from ramify.cli.options import Folder
from ramify.errors import RamifyError


@app.command(rich_help_panel=PROJECT)
def check(folder: Folder) -> None:
    """Read everything that a project holds and say whether it is still what was written, and how to mend it if not."""
    from ramify.project.store.checking import check as look_at
    from ramify.project.store.store import Store

    damaged = 0
    with Store(folder) as store:
        for finding in look_at(store):
            if finding.damage is None:
                print(f"{finding.what}: whole" + (f" ({finding.note})" if finding.note else ""))
            else:
                damaged += 1
                print(f"{finding.what}: DAMAGED, {finding.damage}: {finding.remedy.replace('DIR', str(folder))}")
    if damaged:
        raise RamifyError(f"{folder} is damaged in {damaged} {'place' if damaged == 1 else 'places'}, see above")
    print(f"{folder} is what was written.")


@app.command(rich_help_panel=PROJECT)
def backup(folder: Folder, file: Annotated[Path, typer.Argument(metavar="FILE", help="A new .zip file.")]) -> None:
    """Write a whole project, but for its pictures, to one file; others may go on working."""
    from ramify.project.store.store import Store

    with Store(folder) as store:
        store.backup(file)
    print(f"{folder} is in {file}. To get it back: ramify restore {file} NEW_FOLDER")


@app.command(rich_help_panel=PROJECT)
def restore(file: Annotated[Path, typer.Argument(metavar="FILE", help="What backup wrote.")], folder: Folder) -> None:
    """Make a project from a backup, in a new folder."""
    from ramify.project.store.store import Store

    Store.restore(file, folder)
    with Store(folder) as store:
        print(f"{folder} is there again, with {len(store)} items.")


@app.command(rich_help_panel=PROJECT)
def move(
    folder: Folder,
    to: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="An empty database, postgresql://user@host/name; or sqlite.")
    ],
) -> None:
    """Move a project's database to PostgreSQL, for a team, or back into its folder (sqlite); nothing is lost."""
    from ramify.project.store.store import Store

    Store.move(folder, None if to == "sqlite" else to)
    with Store(folder) as store:
        print(f"The database of {folder} is {store.database.place} now, with {store.last_event()} events.")
    print("Start its servers again.")
