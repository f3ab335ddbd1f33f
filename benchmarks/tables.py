"""Reading tables: CPU seconds and memory of each format that `read_items` takes, beside .csv.

Each file has the same rows and is read in a process of its own. `python benchmarks/tables.py [ROWS]`
"""

import csv
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import openpyxl
import pyarrow
import pyarrow.parquet

from ramify.readers.rows import FORMATS
from ramify.readers.table import read_items
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
LISTS = ("cat", "animal;-dog", "apple;banana", "food", "none")


def rows(count: int) -> list[dict[str, str | int]]:
    return [
        {"id": n, "text": f"item {n} of a table, with a text of a usual length", "labels": LISTS[n % 5], "dog": n % 2}
        for n in range(count)
        if n % 5 not in (0, 1)  # what is said of dogs there would contradict the list
    ]


def write(path: Path, table: list[dict[str, str | int]]) -> None:
    kind = path.suffix[1:]
    if kind == "xlsx":
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet()
        for row in (list(table[0]), *(list(row.values()) for row in table)):
            sheet.append(row)
        book.save(path)
    elif kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]), delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(table)


def read(path: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    read_items(path, TAXONOMY)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(cpu, after.ru_maxrss / 1024, (after.ru_maxrss - before.ru_maxrss) / 1024)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    table = rows(2 * count)[:count]
    print(f"{len(table)} rows: format, CPU seconds, beside csv, peak MB, of that for reading, file MB")
    csv_cpu = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            path = Path(folder, f"items.{kind}")
            write(path, table)
            call = [sys.executable, __file__, "--read", str(path)]
            said = [subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(3)]
            cpu, peak, more = min(tuple(map(float, line.split())) for line in said)
            csv_cpu = csv_cpu or cpu
            size = path.stat().st_size / 1e6
            print(f"{kind:8} {cpu:6.2f} {cpu / csv_cpu:6.2f} {peak:7.0f} {more:7.0f} {size:7.1f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main()
