"""The command that gives a project the vectors of its concepts' names."""

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli.base import PROJECT, app


@app.command(rich_help_panel=PROJECT)
def names(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="An .npz file: concepts (names or paths) and vectors (a row for each)."),
    ],
    other_space: Annotated[
        bool,
        typer.Option("--other-space", help="They are as wide as the features, but do not lie in the same space."),
    ] = False,
) -> None:
    """Give vectors for the names of all concepts, where no embedder reads them."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.names import give_names, read_names

    with Store(folder) as store:
        give_names(store, file, other_space=other_space)
        print(f"Names: {read_names(store).said}. Next: ramify train {folder}")
