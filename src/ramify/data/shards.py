"""Features in several files: .npy or Parquet shards, on any path that fsspec knows, joined in the order of their names.

The heads of all shards are read and compared before any row is. Then rows are copied, block by block, into one file
without a name, which is mapped: it is gone when nobody uses it any more.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ramify.data.features import BLOCK, NOT_FINITE, first_wrong
from ramify.errors import RamifyError, first_line
from ramify.files import disk_troubles, read_npy

__all__ = ["read_features"]

ID = "id"  # the column of a Parquet file that says whose features these are
KINDS = (".npy", ".parquet")
PATTERN = re.compile(r"[*?\[]")
NUMBERED = re.compile(r"(\d+)(?:-of-(\d+))?(?=\D*$)")  # the last number of a name, perhaps with how many there are


def read_features(place: str | Path, *, ids: Sequence[str] | None = None, drafts: Path | None = None) -> NDArray[Any]:
    """The features of an .npy file, or of all shards of a folder, a pattern or an address, mapped into memory.

    Where Parquet shards have a column ``id``, it must name the items in their order, ``ids``. The joined features lie
    in the folder ``drafts``, by default where the system keeps temporary files.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(2):
    ...         np.save(Path(folder, f"part-{number}-of-2.npy"), np.full((2, 3), number, np.float16))
    ...     features = read_features(f"{folder}/part-*.npy")
    >>> features[:, 0].tolist(), features.dtype.name
    ([0.0, 0.0, 1.0, 1.0], 'float16')
    """
    name = str(place)
    plain = "://" not in name and not PATTERN.search(name) and not Path(name).is_dir()
    if plain and Path(name).suffix != ".parquet":
        return read_npy(name)
    shards = [_head(*found) for found in _listed(name)]
    first = shards[0]
    for shard in shards[1:]:
        if shard.columns != first.columns:
            raise RamifyError(f"{shard.name} has {shard.columns} columns, {first.name} {first.columns}: give as many")
        if shard.dtype != first.dtype:
            raise RamifyError(f"{shard.name} holds {shard.dtype}, {first.name} {first.dtype}: write all in one kind")
    rows = sum(shard.rows for shard in shards)
    if not rows or not first.columns:
        raise RamifyError(f"{name}: there are no features in it")
    if ids is not None and rows != len(ids):
        parts = f"{len(shards)} shards " if len(shards) > 1 else ""
        raise RamifyError(f"{name}: its {parts}hold {rows} rows for {len(ids)} items: give one row for each item")
    folder = Path(tempfile.gettempdir()) if drafts is None else drafts
    with disk_troubles(folder, "nothing was changed"):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            before = 0
            for shard in shards:
                for block in _checked(shard, before, ids):
                    file.write(np.ascontiguousarray(block).data)
                before += shard.rows
            file.flush()
            return np.memmap(file, first.dtype, "r", 0, (rows, first.columns))


@dataclass(frozen=True)
class _Shard:
    """A file, and what its head says."""

    system: Any
    path: str
    rows: int
    columns: int
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return _full(self.system, self.path)


def _listed(place: str) -> list[tuple[Any, str]]:
    """All shards of a place, in the order of their names; refused where one is missing."""
    try:
        system, path = fsspec.core.url_to_fs(place)
        if PATTERN.search(path):
            files = system.glob(path)
        elif system.isdir(path):
            files = [file for file in system.ls(path, detail=False) if file.endswith(KINDS)]
        else:
            files = [path] if system.exists(path) else []
    except RamifyError:
        raise
    except Exception as error:  # no such protocol, a package that is missing, nobody answers: many kinds
        raise RamifyError(f"{place}: it cannot be looked at ({first_line(error)}): check the address") from None
    names = sorted(str(file) for file in files if not _short(str(file)).startswith("."))
    if not names:
        raise RamifyError(f"{place}: there is no such file, and no {' or '.join(KINDS)} shard")
    wrong = [name for name in names if not name.endswith(KINDS)]
    if wrong or len({Path(name).suffix for name in names}) > 1:
        other = wrong[0] if wrong else names[-1]
        raise RamifyError(f"{place}: {_short(other)} is of another kind: give .npy shards, or Parquet shards")
    if names != [path]:
        _check_numbers(place, names)
    return [(system, name) for name in names]


def _check_numbers(place: str, names: list[str]) -> None:
    """Refuse a series of names whose numbers have a gap, or another order than the names."""
    series = [match for name in names if (match := NUMBERED.search(_short(name)))]
    if len(series) < len(names) or len({(match.string[: match.start()], match[2]) for match in series}) > 1:
        return  # names without numbers, or of several kinds
    numbers = [int(match[1]) for match in series]
    for first, second, before, after in zip(series, series[1:], numbers, numbers[1:], strict=False):
        if before >= after:
            raise RamifyError(
                f"{place}: by their names {first.string} comes before {second.string}: give all numbers as many digits"
            )
    if series[0][2] is not None:
        total = int(series[0][2])
        wanted = range(1, total + 1) if total in numbers else range(total)
    elif numbers[0] > 1:
        return  # such as a file for each year
    else:
        wanted = range(numbers[0], numbers[-1] + 1)
    missing = sorted(set(wanted) - set(numbers))
    if missing:
        match = series[0]
        name = f"{match.string[: match.start(1)]}{missing[0]:0{len(match[1])}}{match.string[match.end(1) :]}"
        more = f" and {len(missing) - 1} more are missing" if len(missing) > 1 else " is missing"
        raise RamifyError(f"{place}: the shard {name}{more}: copy all of them")


def _head(system: Any, path: str) -> _Shard:
    with _opened(system, path) as file:
        if path.endswith(".npy"):
            shape, _, dtype = _npy_head(file)
            if len(shape) != 2:
                raise RamifyError(f"{_full(system, path)}: features are a table, not {len(shape)} dimension(s)")
        else:
            table = _parquet(file)
            columns = [field for field in table.schema_arrow if field.name != ID]
            lists = len(columns) == 1 and hasattr(columns[0].type, "value_type")
            kinds = [field.type.value_type if lists else field.type for field in columns]
            try:
                dtypes = {np.dtype(kind.to_pandas_dtype()) for kind in kinds}
            except (NotImplementedError, TypeError):
                dtypes = {np.dtype(object)}
            dtype = np.result_type(*dtypes) if dtypes else np.dtype(object)
            width = len(columns)
            if lists:
                first = next(table.iter_batches(1, columns=[columns[0].name]), None)
                width = 0 if first is None or not first.num_rows else len(first.column(0)[0].as_py() or ())
            shape = (table.metadata.num_rows, width)
        if dtype.kind not in "biuf":
            raise RamifyError(f"{_full(system, path)}: features must be numbers, not {dtype}")
        return _Shard(system, path, *shape, dtype)


def _checked(shard: _Shard, before: int, ids: Sequence[str] | None) -> Iterator[NDArray[Any]]:
    """The rows of a shard, block by block, so many rows after the first of all."""
    done = 0
    with _opened(shard.system, shard.path) as file:
        blocks = _npy_blocks(shard, file) if shard.path.endswith(".npy") else _parquet_blocks(shard, file)
        for block, named in blocks:
            wrong = first_wrong(block)
            if wrong is not None:
                row, column = wrong
                raise RamifyError(
                    f"{shard.name}: the features of row {done + row}, column {column} are {block[row, column]}: "
                    f"{NOT_FINITE}"
                )
            for row, name in enumerate(named if ids is not None and named is not None else ()):
                if ids is not None and str(name) != ids[before + done + row]:
                    raise RamifyError(
                        f"{shard.name}: row {done + row} is that of {name!r}, and the item in its place is "
                        f"{ids[before + done + row]!r}: give features in the order of the items"
                    )
            done += len(block)
            yield block
    if done != shard.rows:
        raise RamifyError(f"{shard.name}: it ends after {done} of {shard.rows} rows: copy it again")


def _npy_blocks(shard: _Shard, file: Any) -> Iterator[tuple[NDArray[Any], None]]:
    _, fortran, _ = _npy_head(file)
    if fortran:  # rows do not lie side by side
        file.seek(0)
        yield npy.read_array(file, allow_pickle=False), None
        return
    size = shard.columns * shard.dtype.itemsize
    at_once = max(1, BLOCK // max(1, shard.columns))
    for first in range(0, shard.rows, at_once):
        content = file.read(min(at_once, shard.rows - first) * size)
        yield np.frombuffer(content[: len(content) // size * size], shard.dtype).reshape(-1, shard.columns), None


def _parquet_blocks(shard: _Shard, file: Any) -> Iterator[tuple[NDArray[Any], list[Any] | None]]:
    table = _parquet(file)
    done = 0
    for batch in table.iter_batches(max(1, BLOCK // shard.columns)):
        names = [name for name in batch.schema.names if name != ID]
        for name in names:
            column = batch.column(name)
            if column.null_count:
                row = done + int(np.flatnonzero(column.is_null())[0])
                raise RamifyError(f"{shard.name}: row {row} has no {name}: give every item all features")
        if len(names) == 1 and hasattr(batch.column(names[0]).type, "value_type"):
            values = batch.column(names[0])
            widths = np.asarray(values.value_lengths())
            odd = np.flatnonzero(widths != shard.columns)
            if len(odd):
                raise RamifyError(
                    f"{shard.name}: row {done + odd[0]} has {widths[odd[0]]} numbers, others {shard.columns}: "
                    "give as many"
                )
            flat = values.flatten()
            if flat.null_count:
                row = int(np.flatnonzero(flat.is_null())[0]) // shard.columns
                raise RamifyError(f"{shard.name}: row {done + row} has a number that is missing: fill it in")
            block = flat.to_numpy(zero_copy_only=False).reshape(-1, shard.columns)
        else:
            block = np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in names])
        yield block.astype(shard.dtype, copy=False), batch.column(ID).to_pylist() if ID in batch.schema.names else None
        done += batch.num_rows


def _npy_head(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return shape, fortran, dtype


def _parquet(file: Any) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(file)


@contextmanager
def _opened(system: Any, path: str) -> Iterator[Any]:
    name = _full(system, path)
    try:
        with system.open(path, "rb") as file:
            yield file
    except RamifyError:
        raise
    except FileNotFoundError:
        raise RamifyError(f"{name}: this shard is gone: copy it again") from None
    except Exception as error:  # damage makes numpy, pyarrow and file systems raise many kinds
        raise RamifyError(f"{name}: this shard cannot be read ({first_line(error)}): copy it again") from None


def _full(system: Any, path: str) -> str:
    """The name of a shard as its user would write it."""
    local = "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,))
    return path if local else str(system.unstrip_protocol(path))


def _short(path: str) -> str:
    return path.rpartition("/")[2]
