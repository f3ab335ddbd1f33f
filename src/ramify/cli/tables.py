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
from ramify.project.limits import MANY_FINE, TOP

if TYPE_CHECKING:
    from ramify.project.store.store import Store
    from ramify.project.transfer.predicting import Predicted
    from ramify.taxonomy import Taxonomy

TABLES, TOOLS = "csv, jsonl or parquet", "coco, label-studio, fiftyone or huggingface"


@app.command(rich_help_panel=PROJECT)
def suggest(
    folder: Folder,
    count: Annotated[int, typer.Option("-n", help="How many questions.", min=1)] = 20,
    single: Annotated[
        bool, typer.Option("--single", help="Ask about one concept in each row, not about all open ones of a group.")
    ] = False,
    strategy: StrategyName = None,
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
    from ramify.project.live.status import training_due
    from ramify.project.live.suggesting import suggest as suggested

    if out is not None:
        _check_unanswered(out)
    with (
        progress("questions may be out for ten minutes") as far,
        Service(folder, strategy=strategy, audit=audit, background=False, engine=engine, report=far) as service,
    ):
        out_already = len(service.leases.own(annotator)[0])
        columns = suggested(service, annotator, count, single=single)
        due = training_due(service.store)
    asked = len(columns["id"])
    if due is not None:
        print(f"Training is due: {due} (ramify train {folder}).")
    if out_already:
        print(f"These begin with what is out with {annotator!r} already ({out_already} entries, until answered).")
    if not asked:
        no_more = "no items, all entries known, or out with others, for ten minutes at most"
        print(f"There is nothing to ask{'' if due is None else ' of what the model has seen'}: {no_more}.")
        return
    if out is not None:
        _write(out, kind, columns, {"model": "whole"})
        how = "yes, no or skip" if single else "those of the choices that apply, or none, or skip"
        print(f"Wrote {asked} questions to {out}: fill in the column answer ({how}), then run")
        print(f"ramify answer {folder} {out}")
        return
    table = Table("id", "concept?" if single else "which of these?", "", box=None, header_style="dim")
    for name, concepts, content in zip(
        columns["id"], columns["concept" if single else "choices"], columns["content"], strict=True
    ):
        table.add_row(Text(name), Text(concepts), _shown(name, content))
    Console().print(table)


@app.command(rich_help_panel=PROJECT)
def suspects(
    folder: Folder,
    concept: Annotated[str | None, typer.Option(help="Only labels of this concept, coarse or fine.")] = None,
    count: Annotated[int, typer.Option("-n", help="How many labels.", min=1)] = 100,
    out: Annotated[
        Path | None, typer.Option(help="Write them to a table with an empty answer column, for ramify answer.")
    ] = None,
    kind: Format = None,
) -> None:
    """Show the labels, imported or answered, that a model which did not see them contradicts most strongly."""
    from ramify.project.live.suspecting import list_suspects
    from ramify.project.store.store import Store

    if out is not None:
        _check_unanswered(out)
    with Store(folder) as store:
        columns, total = list_suspects(store, count, concept)
    listed = len(columns["id"])
    if not listed:
        print("The model doubts no label that nobody has settled.")
        return
    if out is not None:
        _write(out, kind, columns, {"doubt": "number"})
        print(f"Wrote {listed} of {total} doubted labels to {out}: fill in the column answer (yes or no), then run")
        print(f"ramify answer {folder} {out}")
        return
    table = Table("id", "concept", "label", "doubt", "", box=None, header_style="dim")
    for name, about, label, doubt, content in zip(
        *(columns[name] for name in ("id", "concept", "label", "doubt", "content")), strict=True
    ):
        table.add_row(Text(name), Text(about), label, f"{doubt:.2f}", _shown(name, content))
    Console().print(table)
    print(f"{listed} of {total} doubted labels; --out writes a table in which they can be settled.")


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
    for sentence in done.told():
        print(sentence)


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
            show_default=f"from {MANY_FINE} fine concepts on: {TOP}",
            min=1,
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--format", help=f"{TABLES}; {TOOLS}.", show_default="by the file's ending")
    ] = None,
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
    from ramify.project.transfer.exporting import export_predicted, export_predictions, shortened
    from ramify.project.transfer.predicting import predicting, what_is_traded
    from ramify.project.transfer.tables import format_of
    from ramify.project.transfer.writers import WRITERS

    others = [name for name in WRITERS if name != "wide"]  # tables have a column for each concept already
    writer = WRITERS.get(format_of(out, kind, safe=safe_csv, others=others))
    if source is not None and out.exists() and out.samefile(source):
        raise RamifyError(f"{out} is the table that is read: give another name with --out")
    with Store(folder) as store, progress(f"{out} was not written") as shown:
        order = _order(store, folder, engine, shown) if writer is WRITERS["label-studio"] and source is None else {}
        reading: dict[str, Any] = {
            "layout": layout_of(id_column, text, picture, ignore, tuple(labels or ()), separator, partial),
            "features": features,
            "images": images,
            "skip_unreadable": skip_unreadable,
        }
        taxonomy = store.taxonomy
        top = shortened(taxonomy, top)
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
            if writer is not None:
                model = f"ramify {(store.model() or (0,))[0]}"
                written, lost = export_predicted(
                    out, writer, taxonomy, predicted.shown, blocks, model, images=predicted.images, order=order
                )
            else:
                written = export_predictions(out, kind, taxonomy, ids, blocks, top, safe=safe_csv)
    tell_left_out(predicted.left_out)
    if writer is not None:
        print(" ".join(filter(None, (f"Wrote {written} items to {out}.", lost))))
    else:
        print(f"Wrote {written} {'rows' if top is None else 'likely concepts'} of {len(ids)} items to {out}.")
    if predicted.untested:
        print("No item is completely known yet: nothing says how good these probabilities are until you answer some.")
    for line in _promises(predicted, taxonomy, "recall" if precision is None else "precision", precision or recall):
        print(line)
    if predicted.rule.trade is not None:
        print(what_is_traded(predicted.rule.trade))
    found = predicted.found
    print(f"{found.labels} labels, {found.predicted} of them predicted; {found.empty} items have none.")


def _order(store: "Store", folder: Path, engine: str, shown: Any) -> dict[int, int]:
    """How much an answer about each item would teach, by its place; unknown where the project can only be read."""
    from ramify.project.live.service import Service
    from ramify.project.live.teaching import teaching_order
    from ramify.project.store.store import UnavailableError

    try:
        store.database.check_writable()
    except UnavailableError:
        print(f"{folder} can only be read: tasks are written as the items are, not in the order of what teaches most.")
        return {}
    with Service(folder, background=False, engine=engine, report=shown) as service:
        return teaching_order(service)


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
    kind: Annotated[
        str | None, typer.Option("--format", help=f"{TABLES}; wide, {TOOLS}.", show_default="jsonl")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write.", show_default="DIR-labels.FORMAT")] = None,
    events: Annotated[bool, typer.Option("--events", help="Every answer ever given, instead of labels.")] = False,
    known: Annotated[bool, typer.Option("--known", help="Only entries that are known.")] = False,
    safe_csv: SafeCsv = False,
) -> None:
    """Write all labels (yes, no or unknown, and why) or all answers to a table, or labels as other tools read them."""
    from ramify.project.store.store import Store
    from ramify.project.transfer.exporting import export_events, export_known, export_labels
    from ramify.project.transfer.tables import format_of
    from ramify.project.transfer.writers import WRITERS

    kind = format_of(out, kind or (None if out else "csv" if safe_csv else "jsonl"), safe=safe_csv, others=WRITERS)
    writer = WRITERS.get(kind)
    if writer is not None and (events or known):
        raise RamifyError(f"{'--events' if events else '--known'} is for csv, jsonl and parquet, not for {kind}")
    ending = f".{kind}" if writer is None else writer.ENDING
    out = out or Path(f"{folder.resolve().name}-{'events' if events else 'labels'}{ending}")
    with Store(folder) as store:
        if writer is not None:
            count, lost = export_known(store, out, writer)
            print(" ".join(filter(None, (f"Wrote {count} items to {out}.", lost))))
            return
        written, total = (
            export_events(store, out, kind, safe=safe_csv)
            if events
            else export_labels(store, out, kind, known_only=known, safe=safe_csv)
        )
    print(f"Wrote {written} of {total} rows to {out}.")


def _write(out: Path, kind: str | None, columns: dict[str, list[Any]], kinds: dict[str, str]) -> None:
    """Write questions to a table: ids and choices are read again; what is only looked at must not become a formula."""
    from ramify.project.transfer.tables import format_of, harmless, writing

    kind = format_of(out, kind)
    contents = list(map(harmless, columns["content"])) if kind == "csv" else columns["content"]
    with writing(out, {name: kinds.get(name, "text") for name in columns}, kind) as writer:
        writer.write({**columns, "content": contents})


def _shown(name: str, content: str) -> Text:
    """The beginning of an item's content, where it is more than its id."""
    shown = "" if content == name else content.replace("\n", " ")
    return Text(shown[:80] + "..." * (len(shown) > 80))


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
