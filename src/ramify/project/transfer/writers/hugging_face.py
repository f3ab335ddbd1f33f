"""A folder that Hugging Face's ``datasets`` loads: one parquet file whose ``labels`` are lists of classes."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.files import disk_troubles, whole_file
from ramify.labels import RELEVANT, UNKNOWN
from ramify.project.transfer.writers.base import Part, Said

ENDING = ""


def write(path: Path, said: Said) -> str:
    """Write ``metadata.parquet`` about pictures, which lie in the same folder, or ``data.parquet`` with texts.

    Classes are the paths of concepts; ``labels`` is null where nothing is known, and ``scores`` belongs to predictions.
    """
    import pyarrow
    import pyarrow.parquet

    if path.exists() and not path.is_dir():
        raise RamifyError(f"{path} is a file: give the name of a folder to write to")
    parts = said.parts()
    first = next(parts, None)
    pictures = first is not None and any(item.picture for item in first.items)
    shown = "file_name" if pictures else "text"
    fields = [("id", pyarrow.string()), (shown, pyarrow.string()), ("labels", pyarrow.list_(pyarrow.int64()))]
    if said.model:
        fields.append(("scores", pyarrow.list_(pyarrow.float32())))
    schema = pyarrow.schema(fields, {"huggingface": json.dumps({"info": {"features": _features(said, shown)}})})
    silent = 0
    with disk_troubles(path):
        path.mkdir(exist_ok=True)
    file = path / ("metadata.parquet" if pictures else "data.parquet")
    with whole_file(file) as draft, pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        for part in chain([] if first is None else [first], parts):
            columns = _columns(part, shown, said)
            silent += columns["labels"].count(None)
            writer.write_table(pyarrow.table(columns, schema))
    said.counts["unknown"] -= silent * len(said.concepts)  # null says so
    return said.unknown_is_no("Hugging Face")


def _columns(part: Part, shown: str, said: Said) -> dict[str, list[Any]]:
    applying = [np.flatnonzero(row == RELEVANT).tolist() for row in part.states]
    nothing = (part.states == UNKNOWN).all(axis=1).tolist()
    columns: dict[str, list[Any]] = {
        "id": [item.id for item in part.items],
        shown: [item.picture if shown == "file_name" else item.text for item in part.items],
        "labels": [None if silent else listed for silent, listed in zip(nothing, applying, strict=True)],
    }
    if said.model and part.confidence is not None:
        columns["scores"] = [part.confidence[row, listed].tolist() for row, listed in enumerate(applying)]
    return columns


def _features(said: Said, shown: str) -> dict[str, Any]:
    """What ``datasets`` reads of the columns."""
    text = {"dtype": "string", "_type": "Value"}
    labels = {"feature": {"names": said.paths(), "_type": "ClassLabel"}, "_type": "Sequence"}
    scores = {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "Sequence"}
    return {"id": text, shown: text, "labels": labels, **({"scores": scores} if said.model else {})}
