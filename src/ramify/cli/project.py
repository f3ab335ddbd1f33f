"""Commands on a project folder, from its beginning to its labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramify.cli.base import PROJECT, app
from ramify.cli.progress import progress
from ramify.errors import RamifyError

if TYPE_CHECKING:
    from ramify.project.transfer.importing import Added
    from ramify.readers.table import Layout

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before texts that a spreadsheet takes for formulas.")
]
Format = Annotated[str | None, typer.Option("--format", help="csv, jsonl or parquet; else by the file's ending.")]
StrategyName = Annotated[
    str,
    typer.Option("--strategy", help="Who chooses the questions: expected-gain, uncertainty, ... or module:Class."),
]
Templates = Annotated[
    list[str] | None,
    typer.Option(
        help="How names are read, such as 'a photo of a {}'; several times if needed.",
        show_default="those of the taxonomy file, or the embedder's own",
    ),
]
LISTED = 10  # items that cannot be read, printed

# How a table of items is read: the same for add and predict.
Id = Annotated[str, typer.Option("--id", help="The column of ids.")]
TextColumn = Annotated[str | None, typer.Option("--text", help="The column of texts.", show_default="text")]
PictureColumn = Annotated[
    str | None, typer.Option("--picture", help="The column of picture paths.", show_default="picture, image or path")
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option("--labels", help="A column that lists concepts; may be given several times.", show_default="labels"),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="A column to ignore; several times if needed.")]
Separator = Annotated[
    str | None, typer.Option(help="Between the names of a list of labels.", show_default="the first of ; | , found")
]
Partial = Annotated[
    bool, typer.Option("--partial", help="Coarse concepts that a list does not name are unknown, not irrelevant.")
]
Complete = Annotated[
    bool, typer.Option("--complete", help="A list that names a fine concept names all: those beside it are irrelevant.")
]
Features = Annotated[Path | None, typer.Option(help="An .npy file with a row of numbers for each item.")]
Images = Annotated[
    Path | None, typer.Option(help="The folder that picture paths start from.", show_default="the table's own")
]
CoarseOnly = Annotated[
    bool,
    typer.Option("--coarse-only", help="Leave out what is said of finer concepts, to try Ramify where all is known."),
]
SkipUnreadable = Annotated[bool, typer.Option("--skip-unreadable", help="Leave out what cannot be read.")]


@app.command(rich_help_panel=PROJECT)
def init(
    folder: Folder,
    taxonomy: Annotated[Path | None, typer.Option(help="A .yaml or .json file of concepts.")] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DATA", help="Data that name their own concepts, such as a COCO file."),
    ] = None,
    template: Templates = None,
) -> None:
    """Make a project: a new folder with the concepts of a taxonomy file, or of data that name them."""
    from ramify.project.transfer.importing import init as make

    if (taxonomy is None) == (source is None):
        raise RamifyError("say which concepts the project has: either --taxonomy FILE or --from DATA")
    concepts: Any = taxonomy
    following = "items.csv"
    if source is not None:
        from ramify.readers import propose

        concepts, layout = propose(str(source))
        following = " ".join([str(source), *layout.options()])
    with make(folder, concepts, template or None) as store:
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
) -> None:
    """Add items with their labels, all or nothing; adding the same again changes nothing."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.importing import add as add_items

    layout = _layout(id_column, text, picture, ignore, tuple(labels or ()), separator, partial, complete)
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
            progress=shown,
        )
        total = len(store)
    tell_added(done, total)


@app.command(rich_help_panel=PROJECT)
def status(folder: Folder) -> None:
    """Show how far a project is: items, answers, what is known of each concept, the model."""
    from ramify.cli.status import show
    from ramify.project.live.status import read_status
    from ramify.project.store.store import Store

    with Store(folder) as store:
        show(Console(), folder, read_status(store))


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
    from ramify.project.store.store import Store

    parameters = _settings(settings or [])
    with Store(folder) as store, progress(f"{folder} is as it was") as shown:
        store.trainings.check_free()  # before torch is loaded
        from ramify.project.live.training import train as train_model

        version = train_model(store, learner=learner, parameters=parameters, templates=template or None, report=shown)
        print(f"Names: {(store.model_facts() or {})['note']}.")
    print(f"The project's model is now number {version}.")


@app.command(rich_help_panel=PROJECT)
def suggest(
    folder: Folder,
    count: Annotated[int, typer.Option("-n", help="How many questions.", min=1)] = 20,
    single: Annotated[
        bool, typer.Option("--single", help="Ask about one concept in each row, not about all open ones of a group.")
    ] = False,
    strategy: StrategyName = "expected-gain",
    annotator: Annotated[str, typer.Option(help="Who will answer them.")] = "file",
    out: Annotated[
        Path | None, typer.Option(help="Write them to a table with an empty answer column, for ramify answer.")
    ] = None,
    kind: Format = None,
) -> None:
    """Show the questions whose answers would help most; nobody else gets them for ten minutes."""
    from ramify.project.live.service import Service
    from ramify.project.live.suggesting import suggest as suggested

    if out is not None:
        _check_unanswered(out)
    with Service(folder, strategy=strategy, background=False) as service:
        out_already = len(service.leases.own(annotator)[0])
        columns = suggested(service, annotator, count, single=single)
    asked = len(columns["id"])
    if out_already:
        print(f"These begin with what is out with {annotator!r} already ({out_already} entries, until answered).")
    if not asked:
        print("There is nothing to ask: no items, all entries known, or out with others, for ten minutes at most.")
        return
    if out is not None:
        from ramify.project.transfer.tables import format_of, writing

        with writing(out, dict.fromkeys(columns, "text"), format_of(out, kind)) as writer:
            writer.write(columns)
        how = "yes, no or skip" if single else "those of the choices that apply, or none, or skip"
        print(f"Wrote {asked} questions to {out}: fill in the column answer ({how}), then run")
        print(f"ramify answer {folder} {out}")
        return
    table = Table("id", "concept?" if single else "which of these?", "", box=None, header_style="dim")
    for name, concepts, content in zip(
        columns["id"], columns["concept" if single else "choices"], columns["content"], strict=True
    ):
        shown = "" if content == name else content.replace("\n", " ")
        table.add_row(Text(name), Text(concepts), Text(shown[:80] + "..." * (len(shown) > 80)))
    Console().print(table)


@app.command(rich_help_panel=PROJECT)
def answer(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with the columns id, concept and answer.")],
    annotator: Annotated[
        str | None, typer.Option(help="Who answered.", show_default="as the column annotator says, or else file")
    ] = None,
) -> None:
    """Take in answers (yes, no, skip) from a table, all or nothing; the same file again changes nothing."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.answer_table import answer_from_table

    with Store(folder) as store:
        done = answer_from_table(store, file, annotator=annotator)
    if done.ignored:
        print(f"Ignored: {', '.join(map(repr, done.ignored))}.")
    repeated = f", {done.repeated} were there already" if done.repeated else ""
    left = f", {done.open} rows have none yet" if done.open else ""
    print(f"Saved {done.saved} answers{repeated}{left}.")


@app.command(rich_help_panel=PROJECT)
def predict(
    folder: Folder,
    source: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A table of new items; else the project's own.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.csv"),
    threshold: Annotated[
        float | None, typer.Option(help="The least probability of a label.", show_default="0.5")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Choose the threshold so that this share of labels is right, by the answers.")
    ] = None,
    kind: Format = None,
    safe_csv: SafeCsv = False,
    features: Features = None,
    images: Images = None,
    id_column: Id = "id",
    text: TextColumn = None,
    picture: PictureColumn = None,
    labels: LabelColumns = None,
    ignore: Ignore = None,
    separator: Separator = None,
    partial: Partial = False,
    skip_unreadable: SkipUnreadable = False,
) -> None:
    """Write fine labels and probabilities, of the project's items or of new ones; coarse labels help with both."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.exporting import export_predictions
    from ramify.project.transfer.predicting import predicting
    from ramify.project.transfer.tables import format_of

    format_of(out, kind)
    if source is not None and out.exists() and out.samefile(source):
        raise RamifyError(f"{out} is the table that is read: give another name with --out")
    with Store(folder) as store, progress(f"{out} was not written") as shown:
        reading = {
            "layout": _layout(id_column, text, picture, ignore, tuple(labels or ()), separator, partial),
            "features": features,
            "images": images,
            "skip_unreadable": skip_unreadable,
            "progress": shown,
        }
        with predicting(store, source, threshold=threshold, precision=precision, **reading) as predicted:
            written = export_predictions(out, kind, store.taxonomy, predicted.ids, predicted.blocks, safe=safe_csv)
    _tell_left_out(predicted.left_out)
    if predicted.untested:
        print("No item is completely known yet: nothing says how good these probabilities are until you answer some.")
    print(f"Wrote {written} of {len(predicted.ids)} rows to {out}.")
    found = predicted.found
    print(f"{found.labels} labels have a probability of {found.least:.2g} or more; {found.empty} items have none.")


@app.command(rich_help_panel=PROJECT)
def export(
    folder: Folder,
    kind: Annotated[str | None, typer.Option("--format", help="csv, jsonl or parquet.", show_default="jsonl")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write.", show_default="DIR-labels.FORMAT")] = None,
    events: Annotated[bool, typer.Option("--events", help="Every answer ever given, instead of labels.")] = False,
    known: Annotated[bool, typer.Option("--known", help="Only entries that are known.")] = False,
    safe_csv: SafeCsv = False,
) -> None:
    """Write all labels (yes, no or unknown, and why) or all answers to a table."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.exporting import export_events, export_labels
    from ramify.project.transfer.tables import format_of

    kind = format_of(out, kind or (None if out else "csv" if safe_csv else "jsonl"))
    out = out or Path(f"{folder.resolve().name}-{'events' if events else 'labels'}.{kind}")
    with Store(folder) as store:
        written, total = (
            export_events(store, out, kind, safe=safe_csv)
            if events
            else export_labels(store, out, kind, known_only=known, safe=safe_csv)
        )
    print(f"Wrote {written} of {total} rows to {out}.")


@app.command(rich_help_panel=PROJECT)
def split(
    folder: Folder,
    concept: Annotated[str, typer.Argument(help="A fine concept, by name or path.")],
    finer: Annotated[list[str], typer.Argument(help="What it is divided into.")],
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="One of the finer ones always applies.")] = False,
) -> None:
    """Divide a fine concept into finer ones; what is known of it stays known."""
    from ramify.project.store.store import Store

    with Store(folder) as store:
        store.split(concept, finer, exhaustive=exhaustive)
        print(store.taxonomy)
    print(f"\nNext: ramify train {folder}")


@app.command(rich_help_panel=PROJECT)
def serve(
    folder: Folder,
    host: Annotated[
        str, typer.Option(help="Where to listen; another one than this machine needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    token: Annotated[str | None, typer.Option(help="The secret that the link carries; else one is drawn.")] = None,
    strategy: StrategyName = "expected-gain",
    overlap: Annotated[int, typer.Option(help="How many annotators answer each question.", min=1)] = 1,
    budget: Annotated[int | None, typer.Option(help="Stop asking after so many answers.", min=1)] = None,
    train_every: Annotated[
        int | None,
        typer.Option(
            help="Train the whole model again after so many answers.",
            show_default="refine: never, it learns from each; other learners: 100",
            min=1,
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the annotation page until Ctrl-C."""
    from ramify.web.app import serve as serve_page

    serve_page(
        folder,
        host=host,
        port=port,
        token=token,
        strategy=strategy,
        overlap=overlap,
        budget=budget,
        train_every=train_every,
        open_browser=open_browser,
    )


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


def _check_unanswered(path: Path) -> None:
    """Refuse to write over a table of questions that somebody has answered."""
    from ramify.project.transfer.tables import FORMATS
    from ramify.readers.rows import is_empty, read_rows

    if not path.is_file() or path.suffix.lower().lstrip(".") not in FORMATS:
        return
    try:
        answers = read_rows(path).columns.get("answer", [])
    except RamifyError:  # it holds something else, or nothing
        return
    if not all(map(is_empty, answers)):
        raise RamifyError(f"{path} holds answers, which would be lost: give another name, or remove it")


def tell_added(done: "Added", total: int) -> None:
    """Say what was added, and what was not."""
    _tell_left_out(done.left_out)
    if done.ignored:
        print(f"Ignored: {', '.join(map(repr, done.ignored))} (neither id, text, picture nor a concept).")
    if done.unlabelled:
        print(f"{done.unlabelled} items list no label, so theirs are unknown (write none where no concept applies).")
    for note in done.notes:
        print(f"{note[:1].upper()}{note[1:]}.")
    present = f", {done.present} were there already" if done.present else ""
    print(f"Added {done.added} items{present}: the project has {total}, with features by {done.embed}.")


def _layout(
    id_column: str, text: str | None, picture: str | None, ignore: list[str] | None, *labelling: Any
) -> "Layout":
    from ramify.readers.table import Layout

    return Layout(id_column, text, picture, tuple(ignore or ()), *labelling)


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


def _tell_left_out(left_out: list[str]) -> None:
    if left_out:
        print(f"Left out {len(left_out)} items that cannot be read:")
        for line in left_out[:LISTED]:
            print(f"  {line}")
        if len(left_out) > LISTED:
            print(f"  and {len(left_out) - LISTED} more")
