"""Tables of spreadsheets: what is read from .tsv and .xlsx, and the sentence for every mistake."""

import datetime
import io
import re
import zipfile

import openpyxl
import pytest

from ramify.errors import RamifyError
from ramify.project.transfer.tables import format_of
from ramify.readers.rows import read_rows
from ramify.readers.table import Layout, read_items
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
CONCEPTS = ["animal", "food", "cat", "dog", "apple"]


def sheet(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def changed(path, part: str, change):
    """The same file with another content of one of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def refused(path, message: str, **layout) -> None:
    with pytest.raises(RamifyError, match=f"^{re.escape(f'{path}{message}')}$"):
        read_items(path, TAXONOMY, Layout(**layout))


# -- .tsv ------------------------------------------------------------------------------------------------------------


def test_tabs_alone_separate_the_columns_of_a_tsv_file(tmp_path):
    path = tmp_path / "items.tsv"
    path.write_text(
        '\ufeffid\ttext\tlabels\r\na\tone, two; three\tcat;-dog\r\n\r\n7\t"with ""quotes"" and\ttab"\tfood\r\n'
    )
    items = read_items(path, TAXONOMY)
    assert items.ids == ["a", "7"]
    assert items.texts == ["one, two; three", 'with "quotes" and\ttab']
    assert items.labels.states(concepts=CONCEPTS).tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 0, -1]]
    assert items.where(1) == f"{path}, row 4"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file has no rows: give one row for each item"),
        ("id\ttext\n", ": the file has no rows: give one row for each item"),
        ("id,text\na,x\n", ": there is no column 'id', only 'id,text': name it with --id"),
        (
            "id\ttext\na\tx\nb\n",
            ", row 3: 1 fields for 2 columns: the row is cut off, or a text that contains '\\t' is not in quotes",
        ),
        ('id\ttext\na\t"x\n', ", row 2: a text in quotes never ends: the file is cut off, or a quote is missing"),
        ("id\tanimal\na\tmaybe\n", ", row 2, column 'animal': 'maybe' is neither 1, 0, yes, no, true, false nor empty"),
    ],
)
def test_every_mistake_in_a_tsv_file_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "items.tsv"
    path.write_text(content)
    refused(path, message)


# -- .xlsx -----------------------------------------------------------------------------------------------------------


def test_a_sheet_is_read_as_its_spreadsheet_would_write_it(tmp_path):
    path = sheet(
        tmp_path / "items.xlsx",
        ["id", "text", "animal", "cat", "day", None, 2024],
        [7, "one\ntwo", 1, True, datetime.date(2024, 5, 1)],
        [],
        [8.0, 2.5, None, None, datetime.datetime(2024, 5, 1, 13, 45), "aside"],
        ["c", 10.0, "no", False, datetime.time(8, 30), None, None, None, None],
    )
    rows = read_rows(path)
    assert list(rows.numbers) == [2, 4, 5]
    assert rows.columns == {
        "id": [7, 8, "c"],
        "text": ["one\ntwo", 2.5, 10],
        "animal": [1, None, "no"],
        "cat": ["TRUE", None, "FALSE"],
        "day": ["2024-05-01", "2024-05-01 13:45:00", "08:30:00"],
        "nameless column 6": [None, "aside", None],
        "2024": [None, None, None],
    }
    items = read_items(path, TAXONOMY)
    assert (items.ids, items.texts) == (["7", "8", "c"], ["one\ntwo", "2.5", "10"])
    assert items.labels.states(concepts=CONCEPTS).tolist() == [[1, -1, 1, -1, -1], [-1] * 5, [0, -1, 0, 0, -1]]
    assert items.ignored == ("day", "nameless column 6", "2024")
    assert items.where(1) == f"{path}, row 4"


def test_only_the_first_sheet_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["id"])
    book.active.append(["a"])
    book.create_sheet("notes").append(["nothing of this"])
    book.save(tmp_path / "items.xlsx")
    assert read_rows(tmp_path / "items.xlsx").columns == {"id": ["a"]}


def test_a_wrong_size_in_the_file_hides_nothing(tmp_path):
    path = sheet(tmp_path / "items.xlsx", ["id", "text"], ["a", "x"], ["b", "y"])
    changed(path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b'ref="A1:B3"', b'ref="A1"'))
    assert read_rows(path).columns == {"id": ["a", "b"], "text": ["x", "y"]}


def test_the_results_of_formulas_are_read_and_those_without_one_refused(tmp_path):
    path = sheet(tmp_path / "items.xlsx", ["id", "text", "food"], ["a", "x", "=1+0"], ["b", '=""', "=1-1"])
    refused(path, ", cell C2: the file does not hold the result of this formula: open it in a spreadsheet and save it")

    def worked_out(xml: bytes) -> bytes:
        xml = re.sub(rb"(<f>1\+0</f>)<v ?/>|(<f>1\+0</f>)<v></v>", rb"<f>1+0</f><v>1</v>", xml)
        xml = re.sub(rb"<f>1-1</f>(<v ?/>|<v></v>)", rb"<f>1-1</f><v>0</v>", xml)
        return xml.replace(b'<c r="B3">', b'<c r="B3" t="str">')  # an empty text is a result too

    items = read_items(changed(path, "xl/worksheets/sheet1.xml", worked_out), TAXONOMY)
    assert items.texts == ["x", None]
    assert items.labels.states(concepts="food").tolist() == [[1], [0]]


def test_files_that_are_no_sheet_are_one_sentence_each(tmp_path):
    damaged = ": this is not a whole .xlsx file; it may be cut off or of another kind: copy it again"
    path = sheet(tmp_path / "items.xlsx", ["id", "text"], *[[f"a{number}", "x" * 50] for number in range(300)])
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"id,text\n", whole[:100]):
        path.write_bytes(content)
        refused(path, damaged)
    path.write_bytes(whole)
    refused(changed(path, "xl/worksheets/sheet1.xml", lambda xml: xml[: len(xml) // 2]), damaged)
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    path.write_bytes(old)
    refused(path, ": this is a file of the old kind .xls: save it as .xlsx")
    path.write_bytes(old + "EncryptedPackage".encode("utf-16-le") + bytes(100))
    refused(path, ": a password protects this file: save it without one")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], ": the file has no rows: give one row for each item"),
        ([["id", "text"]], ": the file has no rows: give one row for each item"),
        ([[None], ["id"], ["a"]], ", row 1: it is empty: write the names of the columns there"),
        ([["id", "id"], ["a", "b"]], ": the column 'id' stands twice: give every column its own name"),
        ([["id"], [7], [], ["7"]], ", row 4, column 'id': the id '7' stands in row 2 already: ids must be unique"),
        ([["id", "text"], ["a", "x"], [None, "y"]], ", row 3, column 'id': the id is missing: give every item its own"),
        (
            [["id", "food"], ["a", 1], ["b", 2]],
            ", row 3, column 'food': 2 is neither 1, 0, yes, no, true, false nor empty",
        ),
    ],
)
def test_every_mistake_in_a_sheet_is_one_sentence(tmp_path, rows, message):
    refused(sheet(tmp_path / "items.xlsx", *rows), message)


def test_pandas_writes_what_is_read(tmp_path):
    import pandas

    frame = pandas.DataFrame({"id": ["a", "b"], "text": ["x", "Käse"], "food": [1.0, None]})
    content = io.BytesIO()
    frame.to_excel(content)
    (tmp_path / "items.xlsx").write_bytes(content.getvalue())
    items = read_items(tmp_path / "items.xlsx", TAXONOMY)
    assert (items.ids, items.texts, items.ignored) == (["a", "b"], ["x", "Käse"], ("nameless column 1",))
    assert items.labels.states(concepts="food").tolist() == [[1], [-1]]


def test_spreadsheets_are_read_but_not_written(tmp_path):
    for ending in ("tsv", "xlsx"):
        with pytest.raises(RamifyError, match=f"the format '{ending}' is none of csv, jsonl, parquet: choose one"):
            format_of(tmp_path / f"labels.{ending}", None)
