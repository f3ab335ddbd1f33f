"""One command from raw data to the first question."""

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli.base import PROJECT, app
from ramify.cli.options import Partial, tell_added
from ramify.cli.progress import progress

SHOWN = 40  # lines of the taxonomy


@app.command(rich_help_panel=PROJECT)
def start(
    source: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A table, a folder of pictures, or a file of another tool (docs/formats)."),
    ],
    taxonomy: Annotated[
        Path | None, typer.Option(help="A file of concepts.", show_default="those that the data name")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--project", help="The project's folder.", show_default="DATA-ramify, here")
    ] = None,
    embed: Annotated[
        str | None, typer.Option(help="What makes the features.", show_default="the best that is installed")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="The folder that picture paths start from.", show_default="the data's own")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="The column of ids.", show_default="guessed")] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts.", show_default="guessed")] = None,
    picture: Annotated[str | None, typer.Option(help="The column of picture paths.", show_default="guessed")] = None,
    labels: Annotated[
        list[str] | None, typer.Option(help="A column that lists concepts; several times if needed.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to ignore; several times if needed.")] = None,
    partial: Partial = False,
    coarse_only: Annotated[
        bool, typer.Option("--coarse-only", help="Leave out what is said of finer concepts, to try Ramify.")
    ] = False,
    skip_unreadable: Annotated[bool, typer.Option("--skip-unreadable", help="Leave out what cannot be read.")] = False,
    serve: Annotated[bool, typer.Option(help="Serve the page at the end.")] = True,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """From raw data to the first question: look, make a project, train, serve. Run again, it goes on."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.starting import begin, look, project_folder, write_concepts

    folder = folder or project_folder(source)
    columns = {"id": id_column, "text": text, "picture": picture, "labels": labels or (), "ignore": ignore or ()}
    found = look(source, folder, taxonomy, coarse_only=coarse_only, partial=partial, **columns)
    print(f"Found {found.said}.")
    tree = str(found.taxonomy).splitlines()
    print("\n".join(["", *tree[:SHOWN], *(["..."] if len(tree) > SHOWN else []), ""]))
    if not found.to_ask:
        concepts = Path(f"{folder.name.removesuffix('-ramify')}-concepts.yaml")
        write_concepts(found.taxonomy, concepts)
        print(f"Every label is known already, so there is nothing to ask. The concepts are in {concepts}: write finer")
        print(f"ones below them, then run the same command with  --taxonomy {concepts}")
        if not coarse_only:
            print("To try Ramify on data whose fine labels are known, add --coarse-only.")
        return
    with progress(f"what is embedded is kept in {folder}") as shown:
        done = begin(
            source,
            folder,
            found,
            embed=embed,
            images=images,
            coarse_only=coarse_only,
            skip_unreadable=skip_unreadable,
            progress=shown,
        )
        with Store(folder) as store:
            total, trained = len(store), store.model() is not None
    tell_added(done, total)
    if done.added or not trained:
        _train(folder)
    if not serve:
        print(f"The project is in {folder}. Next: ramify serve {folder}")
        return
    from ramify.web.app import serve as serve_page

    serve_page(folder, port=port, open_browser=open_browser)


def _train(folder: Path) -> None:
    from ramify.project.live.training import train
    from ramify.project.store.store import Store

    with Store(folder) as store, progress(f"the items are in {folder}") as shown:
        print(f"Trained: the project's model is number {train(store, report=shown)}.")
