"""Commands on a project that read or write tables: questions, answers, predictions, labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramify.cli.base import PROJECT, app
from ramify.cli.options import (
    AuditShare,
    Engine,
    Features,
    Folder,
    Format,
    Id,
    Ignore,
    Images,
    LabelColumns,
    Partial,
    PictureColumn,
    SafeCsv,
    Separator,
    SkipUnreadable,
    StrategyName,
    TextColumn,
    layout_of,
    tell_left_out,
)
from ramify.cli.progress import progress
from ramify.errors import RamifyError

if TYPE_CHECKING:
    from ramify.project.transfer.predicting import Predicted
    from ramify.taxonomy import Taxonomy

MANY, TOP = 500, 10  # fine concepts that are too many for columns, and how many of each item are written then


@app.command(rich_help_panel=PROJECT)
def suggest(
    folder: Folder,
    count: Annotated[int, typer.Option("-n", help="How many questions.", min=1)] = 20,
    single: Annotated[
        bool, typer.Option("--single", help="Ask about one concept in each row, not about all open ones of a group.")
    ] = False,
    strategy: StrategyName = "expected-gain",
    audit: AuditShare = None,
    annotator: Annotated[str, typer.Option(help="Who will answer them.")] = "file",
    out: Annotated[
        Path | None, typer.Option(help="Write them to a table with an empty answer column, for ramify answer.")
    ] = None,
    kind: Format = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Look at all items, by serial, processes, ray, or ray:ADDRESS for a cluster.",
            show_default="a sample of the items, in this process",
        ),
    ] = None,
) -> None:
    """Show the questions whose answers would help most; nobody else gets them for ten minutes."""
    from ramify.project.live.service import Service
    from ramify.project.live.suggesting import suggest as suggested

    if out is not None:
        _check_unanswered(out)
    with (
        progress("questions may be out for ten minutes") as far,
        Service(folder, strategy=strategy, audit=audit, background=False, engine=engine, report=far) as service,
    ):
        out_already = len(service.leases.own(annotator)[0])
        columns = suggested(service, annotator, count, single=single)
    asked = len(columns["id"])
    if out_already:
        print(f"These begin with what is out with {annotator!r} already ({out_already} entries, until answered).")
    if not asked:
        print("There is nothing to ask: no items, all entries known, or out with others, for ten minutes at most.")
        return
    if out is not None:
        from ramify.project.transfer.tables import format_of, harmless, writing

        kind = format_of(out, kind)
        # Ids and choices are read again; what is only looked at must not become a formula.
        contents = list(map(harmless, columns["content"])) if kind == "csv" else columns["content"]
        with writing(out, dict.fromkeys(columns, "text"), kind) as writer:
            writer.write({**columns, "content": contents})
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
    left = f", {done.open} questions have none yet" if done.open else ""
    print(f"Saved {done.saved} answers{repeated}{left}.")


@app.command(rich_help_panel=PROJECT)
def predict(
    folder: Folder,
    source: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A table of new items; else the project's own.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.csv"),
    threshold: Annotated[
        float | None,
        typer.Option(help="The least probability of a label.", show_default="for each concept, by the answers"),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Choose thresholds at which this share of predicted labels is right, promised by the audit."),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Choose thresholds at which this share of unknown labels is found, promised by the audit."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            help="Write rows of items and concepts, the so many most probable of each item, instead of a column each.",
            show_default=f"from {MANY} fine concepts on: {TOP}",
            min=1,
        ),
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
    engine: Engine = "serial",
) -> None:
    """Write fine labels and probabilities, of the project's items or of new ones; coarse labels help with both."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.exporting import export_likeliest, export_predictions
    from ramify.project.transfer.predicting import predicting
    from ramify.project.transfer.tables import format_of

    format_of(out, kind, safe=safe_csv)
    if source is not None and out.exists() and out.samefile(source):
        raise RamifyError(f"{out} is the table that is read: give another name with --out")
    with Store(folder) as store, progress(f"{out} was not written") as shown:
        reading: dict[str, Any] = {
            "layout": layout_of(id_column, text, picture, ignore, tuple(labels or ()), separator, partial),
            "features": features,
            "images": images,
            "skip_unreadable": skip_unreadable,
        }
        taxonomy = store.taxonomy
        if top is None and len(taxonomy.leaves) >= MANY:
            top = TOP
        wanted: dict[str, Any] = {
            "threshold": threshold,
            "precision": precision,
            "recall": recall,
            "top": top,
            "how": engine,
            "progress": shown,
        }
        with predicting(store, source, **wanted, **reading) as predicted:
            ids, blocks = predicted.ids, predicted.blocks
            if top is None:
                written = export_predictions(out, kind, taxonomy, ids, blocks, safe=safe_csv)
            else:
                written = export_likeliest(out, kind, taxonomy, ids, blocks, top, safe=safe_csv)
    tell_left_out(predicted.left_out)
    print(f"Wrote {written} {'rows' if top is None else 'likely concepts'} of {len(ids)} items to {out}.")
    if predicted.untested:
        print("No item is completely known yet: nothing says how good these probabilities are until you answer some.")
    for line in _promises(predicted, taxonomy, "recall" if precision is None else "precision", precision or recall):
        print(line)
    found = predicted.found
    print(f"{found.labels} labels, {found.predicted} of them predicted; {found.empty} items have none.")


def _promises(predicted: "Predicted", taxonomy: "Taxonomy", kind: str, target: float | None) -> Iterator[str]:
    """What holds of the predicted labels, and of which concepts nothing can be promised."""
    from ramify.project.transfer.predicting import what_it_takes

    for part in predicted.rule.promises:
        alone = len(part.concepts) == 1
        who = taxonomy.path(part.concepts[0]) if alone else f"{len(part.concepts)} concepts together"
        if part.threshold is None:
            yield f"{who}: no label is chosen, a {kind} of {target:g} cannot be promised: {what_it_takes(part)}."
        else:
            yield (
                f"{who}: {kind} {target:g} holds with 95 % confidence from a probability of {part.threshold:.3f} on "
                f"({part.share.value:.3f} in the audit, of {part.share.size:.0f} labels)."
            )


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

    kind = format_of(out, kind or (None if out else "csv" if safe_csv else "jsonl"), safe=safe_csv)
    out = out or Path(f"{folder.resolve().name}-{'events' if events else 'labels'}.{kind}")
    with Store(folder) as store:
        written, total = (
            export_events(store, out, kind, safe=safe_csv)
            if events
            else export_labels(store, out, kind, known_only=known, safe=safe_csv)
        )
    print(f"Wrote {written} of {total} rows to {out}.")


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
