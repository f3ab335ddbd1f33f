"""The command that makes features: for any data, or anew for a project."""

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli.base import EXPERIMENTS, app
from ramify.cli.options import Engine
from ramify.cli.progress import progress
from ramify.errors import RamifyError


@app.command(rich_help_panel=EXPERIMENTS)
def embed(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A table, a folder of pictures, a file of another tool, or a project."),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="efficientnet, pictures, words, text, transformers:NAME, ... (docs/data.md).",
            show_default="the best that is installed; of a project its own",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The .npy file to write: a row for each item.")] = Path("features.npy"),
    images: Annotated[
        Path | None, typer.Option(help="The folder that picture paths start from.", show_default="the data's own")
    ] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts.", show_default="guessed")] = None,
    picture: Annotated[str | None, typer.Option(help="The column of picture paths.", show_default="guessed")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="DATA is a project: make the features of all its items anew.")
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(help="With --again: an .npy file or shards to take instead, in the order of the items."),
    ] = None,
    engine: Engine = "serial",
) -> None:
    """Turn texts or pictures into features, for compare and simulate; or change those of a project."""
    from ramify.project.store.place import MARK

    if again:
        _again(data, by, features, engine)
        return
    if (data / MARK).is_file():
        raise RamifyError(f"{data} is a project: say --again to make the features of its items anew")
    if features is not None:
        raise RamifyError("--features is for a project, with --again")
    from ramify.readers.embedding import embed_source

    with progress(f"{out} was not written, and what is embedded is kept") as shown:
        done = embed_source(data, out, by=by, images=images, text=text, picture=picture, how=engine, progress=shown)
    print(f"Wrote {done.rows} x {done.columns} features by {done.by} to {out}.")


def _again(folder: Path, by: str | None, features: str | None, engine: str) -> None:
    from ramify.project.store.store import Store
    from ramify.project.transfer.again import embed_again

    with Store(folder) as store, progress(f"{folder} is as it was, and what is embedded is kept") as shown:
        used = embed_again(store, by, features=features, how=engine, progress=shown)
        count = len(store)
    print(f"All {count} items have features by {used} now; answers and labels are as they were.")
    print(f"Next: ramify train {folder}")
