"""The files of a Hugging Face folder: metadata beside pictures, parquet of the hub, and what save_to_disk writes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.files import readable
from ramify.readers.hugging_face_names import class_names, read_json
from ramify.readers.rows import Rows, read_rows

__all__ = ["FILE", "METADATA", "Part", "is_folder", "read_parts"]

FILE = "file_name"
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
SHARD = re.compile(r".*-\d{5}-of-\d{5}\.parquet")
FOREIGN = ("ramify.json", "dataset.json")  # a project, a data set that Ramify saved
USED = ("id", "text", "label", "labels", FILE)


@dataclass(frozen=True)
class Part:
    """The rows of one file."""

    rows: Rows
    """Of the columns that may be of use; pictures inside the file are not among them."""
    columns: tuple[str, ...]
    """The names of all columns."""
    names: Mapping[str, list[str]]
    """The classes of columns, where the file itself says them."""
    pictures: tuple[str, ...] = ()
    """Columns of pictures that lie inside the file."""


def is_folder(path: Path) -> bool:
    """Whether a folder looks like one of Hugging Face, by the names of its files and the head of one."""
    if not path.is_dir() or any((path / name).exists() for name in FOREIGN):
        return False
    if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
        return bool(_saved(path))
    metadata = next(_metadata(path), None)
    if metadata is not None:
        return _has_file_names(metadata)
    found = _parquet(path)
    return bool(found) and (SHARD.fullmatch(found[0].name) is not None or _is_theirs(found[0]))


def read_parts(path: Path) -> list[Part]:
    """All files of the folder, each with the rows that it holds."""
    saved = _saved(path)
    if saved:
        return [part for folder in saved for part in _saved_parts(folder)]
    metadata = list(_metadata(path))
    if metadata:
        return [_metadata_part(file) for file in metadata]
    found = _parquet(path)
    if not found:
        raise RamifyError(
            f"{path}: there is neither metadata.csv, .jsonl or .parquet, nor a .parquet file, nor what save_to_disk "
            "writes: give the folder that holds one of these"
        )
    folders = sorted({file.parent.name for file in found})
    if len(folders) > 1:
        raise RamifyError(f"{path}: there are several data sets in it ({', '.join(folders)}): give the folder of one")
    return [_of_arrow(file, _parquet_table) for file in found]


# -- which files there are -------------------------------------------------------------------------------------------


def _saved(path: Path) -> list[Path]:
    """The folders that ``save_to_disk`` wrote: this one, or one for each part of it."""
    if (path / "dataset_dict.json").is_file():
        splits = read_json(path / "dataset_dict.json").get("splits")
        if not isinstance(splits, list) or not splits or any(Path(str(name)).name != name for name in splits):
            raise RamifyError(f"{path / 'dataset_dict.json'}: it lists no parts: save the data set again")
        return [path / name for name in splits]
    return [path] if (path / "state.json").is_file() and (path / "dataset_info.json").is_file() else []


def _metadata(path: Path) -> Iterator[Path]:
    """The files of metadata in the folder and in up to two levels of folders below it."""
    below = chain.from_iterable(sorted(path.glob(lead + name)) for lead in ("", "*/", "*/*/") for name in METADATA)
    return (file for file in below if file.is_file())


def _parquet(path: Path) -> list[Path]:
    """The .parquet files in the folder, or else one level below."""
    return sorted(path.glob("*.parquet")) or sorted(path.glob("*/*.parquet"))


def _has_file_names(path: Path) -> bool:
    if path.suffix == ".parquet":
        with suppress(Exception):
            import pyarrow.parquet

            return FILE in pyarrow.parquet.read_schema(path).names
        return False
    with readable(path) as file:
        return FILE.encode() in file.readline(1 << 16)


def _is_theirs(path: Path) -> bool:
    with suppress(Exception):
        import pyarrow.parquet

        return b"huggingface" in (pyarrow.parquet.read_schema(path).metadata or {})
    return False


# -- what they hold --------------------------------------------------------------------------------------------------


def _metadata_part(path: Path) -> Part:
    if path.suffix == ".parquet":
        part = _of_arrow(path, _parquet_table)
    else:
        rows = read_rows(path)
        part = Part(rows, tuple(rows.columns), {})
    if FILE not in part.columns:
        raise RamifyError(f"{path}: there is no column {FILE!r}: it says which picture each row is about")
    return part


def _saved_parts(folder: Path) -> Iterator[Part]:
    state = read_json(folder / "state.json")
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise RamifyError(f"{folder}: its rows are chosen by an index: save dataset.flatten_indices() instead")
    files = state.get("_data_files")
    listed = [file for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []
    names = [str(file.get("filename", "")) for file in listed]
    if not names or any(Path(name).name != name for name in names):
        raise RamifyError(f"{folder / 'state.json'}: it lists no files of data: save the data set again")
    for name in names:
        yield _of_arrow(folder / name, _arrow_table)


def _parquet_table(path: Path, choose: Callable[[Any], list[str]]) -> tuple[Any, Any]:
    import pyarrow.parquet

    with readable(path) as file:
        found = pyarrow.parquet.ParquetFile(file)
        return found.schema_arrow, found.read(choose(found.schema_arrow))


def _arrow_table(path: Path, choose: Callable[[Any], list[str]]) -> tuple[Any, Any]:
    import pyarrow
    import pyarrow.ipc

    with readable(path), pyarrow.memory_map(str(path)) as file:  # so that pictures inside it are not read
        table = pyarrow.ipc.open_stream(file).read_all()
        return table.schema, table.select(choose(table.schema))


def _of_arrow(path: Path, read: Callable[[Path, Callable[[Any], list[str]]], tuple[Any, Any]]) -> Part:
    try:
        schema, table = read(path, _useful)
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
    except RamifyError:
        raise
    except Exception:  # damage makes decoders raise many kinds
        raise RamifyError(
            f"{path}: this is not a whole {path.suffix} file; it may be cut off or of another kind: copy it again"
        ) from None
    features = _features(schema)
    declared = {name: class_names(features.get(name)) for name in schema.names}
    return Part(
        Rows(path, columns, range(1, table.num_rows + 1)),
        tuple(schema.names),
        {name: names for name, names in declared.items() if names is not None},
        tuple(field.name for field in schema if _is_picture(field, features)),
    )


def _features(schema: Any) -> Mapping[str, Any]:
    """What the library noted in a file about its columns."""
    with suppress(ValueError, LookupError, TypeError):
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        return features if isinstance(features, Mapping) else {}
    return {}


def _useful(schema: Any) -> list[str]:
    """Columns that may hold ids, texts or labels."""
    import pyarrow.types as kinds

    features = _features(schema)
    return [
        field.name
        for field in schema
        if field.name in USED
        or kinds.is_string(field.type)
        or kinds.is_large_string(field.type)
        or class_names(features.get(field.name))
    ]


def _is_picture(field: Any, features: Mapping[str, Any]) -> bool:
    import pyarrow.types as kinds

    said = features.get(field.name)
    if isinstance(said, Mapping) and said.get("_type") == "Image":
        return True
    return bool(kinds.is_struct(field.type)) and {"bytes", "path"} <= {inner.name for inner in field.type}
