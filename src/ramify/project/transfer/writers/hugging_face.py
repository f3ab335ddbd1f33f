"""A folder that Hugging Face's ``datasets`` loads: one parquet file whose ``labels`` are lists of classes."""

import json
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from ramify.errors import RamifyError
from ramify.files import disk_troubles, whole_file
from ramify.labels import RELEVANT, UNKNOWN
from ramify.project.transfer.writers.base import Part, Said
from ramify.readers.hugging_face_files import FILE, METADATA

ENDING = ""


def write(path: Path, said: Said) -> str:
    """Write ``metadata.parquet`` about pictures, which lie in the same folder, or ``data.parquet`` about other items.

    That is where some have no picture, or none has: ``datasets`` reads no image folder of which not all are pictures.
    Classes are the paths of concepts; ``labels`` is null where nothing is known, and ``scores`` belongs to predictions.
    """
    import pyarrow
    import pyarrow.parquet

    if path.exists() and not path.is_dir():
        raise RamifyError(f"{path} is a file: give the name of a folder to write to")
    whole = pyarrow.schema(
        [
            *((name, pyarrow.string()) for name in ("id", FILE, "text")),
            ("labels", pyarrow.list_(pyarrow.int64())),
            *([("scores", pyarrow.list_(pyarrow.float32()))] if said.model else []),
        ]
    )
    unseen = untold = silent = 0
    with disk_troubles(path):
        path.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as draft:
            with pyarrow.parquet.ParquetWriter(draft, whole) as writer:
                for part in said.parts():
                    columns = _columns(part, said)
                    unseen, untold, silent = (
                        count + columns[name].count(None)
                        for count, name in ((unseen, FILE), (untold, "text"), (silent, "labels"))
                    )
                    writer.write_table(pyarrow.table(columns, whole))
            items = said.counts["items"]
            lacking = {FILE} if unseen == items else {"text"} if untold == items else set()
            schema = pyarrow.schema(
                [field for field in whole if field.name not in lacking],
                {"huggingface": json.dumps({"info": {"features": _features(said, lacking)}})},
            )
            _copy(draft, _file(path, pictures=0 == unseen < items), schema)
    said.counts["unknown"] -= silent * len(said.concepts)  # null says so
    table = f"{unseen} items have no picture, so data.parquet is a table of all items, not an image folder."
    return " ".join(filter(None, (said.unknown_is_no("Hugging Face"), table if 0 < unseen < items else "")))


def _file(path: Path, *, pictures: bool) -> Path:
    """The file to write to; refuses one that nobody would read."""
    there = next((path / name for name in METADATA if (path / name).exists()), None)
    if not pictures and there is not None:
        raise RamifyError(
            f"{there}: it would be read in place of what is written, which is not about pictures alone: give another "
            "folder"
        )
    return path / ("metadata.parquet" if pictures else "data.parquet")


def _copy(draft: IO[bytes], path: Path, schema: Any) -> None:
    """Write the columns that are needed, which only all items tell."""
    import pyarrow.parquet

    draft.seek(0)
    read = pyarrow.parquet.ParquetFile(draft)
    with whole_file(path) as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for number in range(read.num_row_groups):
            writer.write_table(read.read_row_group(number, schema.names).select(schema.names).cast(schema))


def _columns(part: Part, said: Said) -> dict[str, list[Any]]:
    applying = [np.flatnonzero(row == RELEVANT).tolist() for row in part.states]
    nothing = (part.states == UNKNOWN).all(axis=1).tolist()
    columns: dict[str, list[Any]] = {
        "id": [item.id for item in part.items],
        FILE: [item.picture for item in part.items],
        "text": [item.text for item in part.items],
        "labels": [None if silent else listed for silent, listed in zip(nothing, applying, strict=True)],
    }
    if said.model and part.confidence is not None:
        columns["scores"] = [part.confidence[row, listed].tolist() for row, listed in enumerate(applying)]
    return columns


def _features(said: Said, lacking: set[str]) -> dict[str, Any]:
    """What ``datasets`` reads of the columns, but for those that are lacking."""
    text = {"dtype": "string", "_type": "Value"}
    labels = {"feature": {"names": said.paths(), "_type": "ClassLabel"}, "_type": "Sequence"}
    scores = {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "Sequence"}
    shown = {name: text for name in ("id", FILE, "text") if name not in lacking}
    return {**shown, "labels": labels, **({"scores": scores} if said.model else {})}
