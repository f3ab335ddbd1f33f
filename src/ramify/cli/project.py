"""Commands on a project folder, from its beginning to its labels."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ramify.cli.base import PROJECT, app
from ramify.cli.options import (
    AuditShare,
    CoarseOnly,
    Complete,
    Engine,
    Features,
    Folder,
    Id,
    Ignore,
    Images,
    LabelColumns,
    Partial,
    PictureColumn,
    Separator,
    SkipUnreadable,
    StrategyName,
    Templates,
    TextColumn,
    layout_of,
    tell_added,
)
from ramify.cli.progress import progress
from ramify.errors import RamifyError


@app.command(rich_help_panel=PROJECT)
def init(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="[ADDRESS] DIR",
            help="The project's folder; before it, for a team, a database: postgresql://user@host/name.",
        ),
    ],
    taxonomy: Annotated[Path | None, typer.Option(help="A .yaml or .json file of concepts.")] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DATA", help="Data that name their own concepts, such as a COCO file."),
    ] = None,
    template: Templates = None,
) -> None:
    """Make a project: a new folder with the concepts of a taxonomy file, or of data that name them."""
    from ramify.project.transfer.importing import init as make

    *addresses, folder = places
    if len(addresses) > 1:
        raise RamifyError(f"give one folder, and at most one address before it, not {' '.join(places)}")
    if "://" in folder:
        raise RamifyError("give a folder behind the address: features and models lie there")
    if (taxonomy is None) == (source is None):
        raise RamifyError("say which concepts the project has: either --taxonomy FILE or --from DATA")
    concepts: Any = taxonomy
    following = "items.csv"
    if source is not None:
        from ramify.readers import propose

        concepts, layout = propose(str(source))
        following = " ".join([str(source), *layout.options()])
    with make(folder, concepts, template or None, address=addresses[0] if addresses else None) as store:
        print(store.taxonomy)
    print(f"\nThe project is in {folder}. Next: ramify add {folder} {following}")


@app.command(rich_help_panel=PROJECT)
def add(
    folder: Folder,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A table, a folder of pictures, or a file of another tool (docs/formats).",
        ),
    ],
    features: Features = None,
    embed: Annotated[
        str | None,
        typer.Option(
            help="efficientnet, pictures, words, text, transformers:NAME, ... (docs/data.md).",
            show_default="as the project does; at first the best that is installed",
        ),
    ] = None,
    images: Images = None,
    id_column: Id = "id",
    text: TextColumn = None,
    picture: PictureColumn = None,
    labels: LabelColumns = None,
    ignore: Ignore = None,
    separator: Separator = None,
    partial: Partial = False,
    complete: Complete = False,
    coarse_only: CoarseOnly = False,
    skip_unreadable: SkipUnreadable = False,
    engine: Engine = "serial",
) -> None:
    """Add items with their labels, all or nothing; adding the same again changes nothing."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.importing import add as add_items

    layout = layout_of(id_column, text, picture, ignore, tuple(labels or ()), separator, partial, complete)
    with Store(folder) as store, progress(f"{folder} is as it was, and what is embedded is kept") as shown:
        done = add_items(
            store,
            source,
            layout=layout,
            features=features,
            embed=embed,
            images=images,
            skip_unreadable=skip_unreadable,
            coarse_only=coarse_only,
            how=engine,
            progress=shown,
        )
        total = len(store)
    tell_added(done, total)


@app.command(rich_help_panel=PROJECT)
def status(folder: Folder) -> None:
    """Show how far a project is: items, answers, what is known of each concept, the model."""
    from ramify.cli.status import show
    from ramify.project.live.status import noted, read_status
    from ramify.project.store.store import Store

    with Store(folder) as store:
        show(Console(), folder, read_status(store), noted(store))


@app.command(rich_help_panel=PROJECT)
def quality(folder: Folder) -> None:
    """Estimate how good the labels of all items are, answered and predicted, by the questions drawn at random."""
    from ramify.cli.status import show_quality
    from ramify.project.live.judging import measure
    from ramify.project.store.store import Store

    with Store(folder) as store:
        show_quality(Console(), measure(store))


@app.command(rich_help_panel=PROJECT)
def train(
    folder: Folder,
    learner: Annotated[
        str | None,
        typer.Option(help="Who learns from now on, or module:Class.", show_default="as before; at first refine"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the learner; several times if needed."),
    ] = None,
    template: Templates = None,
) -> None:
    """Train a new model on all labels and answers; a server that runs takes it over by itself."""
    import os

    from ramify.project.store.store import Store

    parameters = _settings(settings or [])
    if int(os.environ.get("RANK", 0)):  # torchrun started several: the first of them reads and writes
        _train_along()
        return
    with Store(folder) as store, progress(f"{folder} is as it was") as shown:
        store.trainings.check_free()  # before torch is loaded
        from ramify.parallel import together
        from ramify.project.live.training import train as train_model

        with together() as team:
            version = train_model(
                store, learner=learner, parameters=parameters, templates=template or None, report=shown
            )
        print(f"Names: {(store.model_facts() or {})['note']}.")
    by = f" It was trained by {team.size} processes." if team.size > 1 else ""
    print(f"The project's model is now number {version}.{by}")


def _train_along() -> None:
    from ramify.parallel import together
    from ramify.project.live.training import train_along

    with together():
        train_along()


@app.command(rich_help_panel=PROJECT)
def serve(
    folder: Folder,
    host: Annotated[
        str, typer.Option(help="Where to listen; another one than this machine needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    token: Annotated[str | None, typer.Option(help="The secret that the link carries; else one is drawn.")] = None,
    strategy: StrategyName = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            help="How many annotators answer each question.", show_default="as set on the page; at first 1", min=1
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Stop asking after so many answers.", show_default="as set on the page; at first none", min=1
        ),
    ] = None,
    train_every: Annotated[
        int | None,
        typer.Option(
            help="Train the whole model again after so many answers.",
            show_default="refine: never, it learns from each; other learners: 100",
            min=1,
        ),
    ] = None,
    audit: AuditShare = None,
    gold: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The share of questions whose answer is known (gold), to tell how often people are right.",
            show_default="as set on the page; at first 0",
        ),
    ] = None,
    label_studio: Annotated[
        bool,
        typer.Option("--label-studio", help="Be a machine learning backend of Label Studio too (docs/formats)."),
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="What people do not choose in Label Studio is unknown, not denied.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the annotation page until Ctrl-C."""
    from ramify.web.app import serve as serve_page

    if partial and not label_studio:
        raise RamifyError("--partial is for what comes from Label Studio: give --label-studio too")
    serve_page(
        folder,
        host=host,
        port=port,
        token=token,
        strategy=strategy,
        overlap=overlap,
        budget=budget,
        train_every=train_every,
        audit=audit,
        gold=gold,
        open_browser=open_browser,
        label_studio=label_studio,
        partial=partial,
    )


def _settings(pairs: list[str]) -> dict[str, Any]:
    """Parameters of a learner from NAME=VALUE, the value as JSON has it, or else as text."""
    import json

    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise RamifyError(f"--set takes NAME=VALUE, such as steps=500, not {pair!r}")
        try:
            settings[name.strip()] = json.loads(value)
        except ValueError:
            settings[name.strip()] = value
    return settings
