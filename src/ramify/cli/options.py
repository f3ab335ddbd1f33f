"""Options that several commands on projects share, and what they mean."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ramify.project.transfer.importing import Added
    from ramify.readers.table import Layout

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before texts that a spreadsheet takes for formulas.")
]
Engine = Annotated[str, typer.Option(help="serial, processes, ray, or ray:ADDRESS for a cluster.")]
Format = Annotated[str | None, typer.Option("--format", help="csv, jsonl or parquet; else by the file's ending.")]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help="Who chooses the questions: expected-gain, finish, ... or module:Class.",
        show_default="as set on the page; at first finish",
    ),
]
AuditShare = Annotated[
    float | None,
    typer.Option(
        "--audit",
        metavar="SHARE",
        help="The share of questions that are drawn at random, to tell how good all labels are; holds from now on.",
        show_default="as before; at first 0.1",
    ),
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
    bool,
    typer.Option(
        "--partial",
        help="Coarse concepts that a list does not name, and all that nobody chose in Label Studio, are unknown, "
        "not irrelevant.",
    ),
]
Complete = Annotated[
    bool, typer.Option("--complete", help="A list that names a fine concept names all: those beside it are irrelevant.")
]
Features = Annotated[
    str | None,
    typer.Option(help="An .npy file with a row for each item; or .npy or Parquet shards (docs/data.md)."),
]
Images = Annotated[
    Path | None, typer.Option(help="The folder that picture paths start from.", show_default="the table's own")
]
CoarseOnly = Annotated[
    bool,
    typer.Option("--coarse-only", help="Leave out what is said of finer concepts, to try Ramify where all is known."),
]
SkipUnreadable = Annotated[bool, typer.Option("--skip-unreadable", help="Leave out what cannot be read.")]


def layout_of(
    id_column: str, text: str | None, picture: str | None, ignore: list[str] | None, *labelling: Any
) -> "Layout":
    """How a table is read, by these options."""
    from ramify.readers.table import Layout

    return Layout(id_column, text, picture, tuple(ignore or ()), *labelling)


def tell_left_out(left_out: list[str]) -> None:
    """Say which items cannot be read."""
    if left_out:
        print(f"Left out {len(left_out)} items that cannot be read:")
        for line in left_out[:LISTED]:
            print(f"  {line}")
        if len(left_out) > LISTED:
            print(f"  and {len(left_out) - LISTED} more")


def tell_added(done: "Added", total: int) -> None:
    """Say what was added, and what was not."""
    tell_left_out(done.left_out)
    for sentence in done.told(total):
        print(sentence)
