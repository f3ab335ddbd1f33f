"""Tables of items: what is read from files and from memory, and the sentence for every mistake."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ramify.errors import RamifyError
from ramify.readers.folder import read_folder
from ramify.readers.rows import Rows, read_rows
from ramify.readers.table import Layout, _ids, read_items, texts_of
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy(
    {"animal": {"cat": {"aliases": ["kitty"]}, "dog": ["poodle", "beagle"]}, "food": ["apple", "banana"]}
)
CONCEPTS = ["animal", "food", "cat", "dog", "poodle", "beagle", "apple", "banana"]
Y, N, U = 1, 0, -1


def items_of(tmp_path, content: str | bytes, name="items.csv", **layout):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_items(path, TAXONOMY, Layout(**layout))


def states(items) -> list[list[int]]:
    return items.labels.states(concepts=CONCEPTS).tolist()


def refused(tmp_path, content: str | bytes, message: str, name="items.csv", **layout) -> None:
    with pytest.raises(RamifyError, match=f"^{re.escape(message.format(path=tmp_path / name))}$"):
        items_of(tmp_path, content, name, **layout)


# -- labels ----------------------------------------------------------------------------------------------------------


def test_a_column_for_each_concept(tmp_path):
    items = items_of(tmp_path, "id,text,animal,food,kitty\na,x,1,no,Yes\nb,y,,FALSE,\nc,z,true,?,0\n")
    assert items.ids == ["a", "b", "c"]
    assert items.texts == ["x", "y", "z"]
    assert items.pictures == [None] * 3
    assert states(items) == [[Y, N, Y, U, U, U, N, N], [U, N, U, U, U, U, N, N], [Y, U, N, U, U, U, U, U]]
    assert items.ignored == ()


def test_a_list_names_what_is_relevant_and_coarse_concepts_that_it_does_not_name_are_irrelevant(tmp_path):
    items = items_of(tmp_path, "id,labels\na,animal\nb,animal;food\nc,kitty | -dog\nd,poodle\ne,none\nf,\n")
    assert states(items) == [
        [Y, N, U, U, U, U, N, N],
        [Y, Y, U, U, U, U, U, U],
        [Y, N, Y, N, N, N, N, N],
        [Y, N, U, Y, Y, U, N, N],
        [N, N, N, N, N, N, N, N],
        [U, U, U, U, U, U, U, U],
    ]
    assert items.unlabelled == 1


def test_a_partial_list_leaves_the_rest_unknown(tmp_path):
    items = items_of(tmp_path, "id,labels\na,animal\nb,!food\n", partial=True)
    assert states(items) == [[Y, U, U, U, U, U, U, U], [U, N, U, U, U, U, N, N]]


def test_a_complete_list_denies_what_stands_beside_the_named(tmp_path):
    items = items_of(tmp_path, "id,labels,banana\na,animal,\nb,poodle,\nc,apple,\n", complete=True)
    assert states(items) == [
        [Y, N, U, U, U, U, N, N],  # no finer concept is named: nothing is known of them
        [Y, N, N, Y, Y, N, N, N],
        [N, Y, N, N, N, N, Y, U],  # bananas have a column of their own
    ]


def test_lists_and_columns_go_together(tmp_path):
    content = "id,coarse_labels,fine_labels,apple\na,food,,1\nb,animal,cat;!poodle,\nc,,banana,0\n"
    assert states(items_of(tmp_path, content)) == [
        [N, Y, N, N, N, N, Y, U],
        [Y, N, Y, U, N, U, N, N],
        [N, Y, N, N, N, N, N, Y],
    ]
    # A coarse concept with a column of its own is what the column says, also where that is nothing.
    assert states(items_of(tmp_path, "id,labels,food\na,cat,\n"))[0][:2] == [Y, U]
    # A finer concept in a column of its own names its coarse one.
    assert states(items_of(tmp_path, "id,labels,apple\na,animal,1\n"))[0][:2] == [Y, Y]


def test_the_separator_can_be_chosen_and_a_name_may_contain_one(tmp_path):
    taxonomy = Taxonomy({"people": ["baby, small", "man"], "thing": None})
    (tmp_path / "a.csv").write_text('id,labels\na,"baby, small"\nb,"baby, small;man"\nc,man/thing\n')
    with pytest.raises(RamifyError, match="row 4, column 'labels': there is no concept 'man/thing'"):
        read_items(tmp_path / "a.csv", taxonomy)
    (tmp_path / "a.csv").write_text('id,labels\na,"baby, small"\nc,man/thing\n')
    labels = read_items(tmp_path / "a.csv", taxonomy, Layout(separator="/")).labels
    assert labels.states(concepts=["baby, small", "man", "thing"]).tolist() == [[1, -1, 0], [-1, 1, 1]]


def test_every_name_can_be_listed_beside_others_and_denied(tmp_path):
    """Whatever a taxonomy accepts as a name, a table can say."""
    names = ["a, b", "c|d", "-e", "!f", "none", "g"]
    taxonomy = Taxonomy({"root": names})
    for name in names:
        listed = {f"{name};g": [name, "g"], f"g ; {name}": ["g", name], name: [name]}
        for text, relevant in listed.items():
            (tmp_path / "a.jsonl").write_text(json.dumps({"id": 1, "labels": text}))
            states = read_items(tmp_path / "a.jsonl", taxonomy).labels.states(0, relevant)
            assert states.tolist() == [[1] * len(relevant)]
        for text in (f"-{name}", f"!{name}", f"root;-{name}"):
            (tmp_path / "a.jsonl").write_text(json.dumps({"id": 1, "labels": text}))
            assert read_items(tmp_path / "a.jsonl", taxonomy).labels.states(0, name).tolist() == [[0]]


def test_lists_of_json_and_parquet(tmp_path):
    rows = [
        {"id": 1, "text": "x", "labels": ["animal", "-cat"]},
        {"id": 2, "labels": []},
        {"id": 3, "text": None, "labels": None},
        {"id": 4, "labels": "food", "animal": True},
    ]
    expected = [
        [Y, N, N, U, U, U, N, N],
        [N, N, N, N, N, N, N, N],
        [U, U, U, U, U, U, U, U],
        [Y, Y, U, U, U, U, U, U],
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    items = items_of(tmp_path, lines, "items.jsonl")
    assert items.ids == ["1", "2", "3", "4"]
    assert items.texts == ["x", None, None, None]
    assert states(items)[:3] == [[Y, N, N, U, U, U, N, N], [U, N, U, U, U, U, N, N], [U] * 8]
    assert states(items)[3] == expected[3]
    plain = [{**row, "labels": row["labels"]} for row in rows[:3]]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), tmp_path / "items.parquet")
    parquet = read_items(tmp_path / "items.parquet", TAXONOMY)
    assert parquet.ids == ["1", "2", "3"]
    assert states(parquet) == expected[:3]


# -- files -----------------------------------------------------------------------------------------------------------


def test_every_dialect_of_csv(tmp_path):
    expected = (["a", "b"], ["one, two\nthree", 'say "hi"'])
    for content in (
        'id,text\na,"one, two\nthree"\nb,"say ""hi"""\n',
        '\ufeffid,text\r\na,"one, two\nthree"\r\n\r\nb,"say ""hi"""',
        'id;text\na;"one, two\nthree"\nb;"say ""hi"""\n',
        'id\ttext\na\t"one, two\nthree"\nb\t"say ""hi"""\n',
    ):
        items = items_of(tmp_path, content)
        assert (items.ids, items.texts) == expected
    assert items_of(tmp_path, f"id,text\na,{'x' * 300_000}\n").texts == ["x" * 300_000]


def test_rows_are_counted_as_a_spreadsheet_does(tmp_path):
    rows = read_rows(_written(tmp_path / "a.csv", 'id,text\na,"one\ntwo"\n\nb,x\n'))
    assert rows.where(1, "id") == f"{tmp_path / 'a.csv'}, row 4, column 'id'"


def _written(path, content):
    path.write_text(content)
    return path


def test_numbers_as_ids_and_the_row_numbers_of_pandas(tmp_path):
    items = items_of(tmp_path, ",id,text\n0,7,x\n1,8,y\n")
    assert items.ids == ["7", "8"]
    assert items.ignored == ("nameless column 1",)
    table = pyarrow.table({"id": [7.0, 8.0], "text": ["x", "y"]})
    pyarrow.parquet.write_table(table, tmp_path / "items.parquet")
    assert read_items(tmp_path / "items.parquet", TAXONOMY).ids == ["7", "8"]


def test_columns_can_be_named_and_others_are_told(tmp_path):
    content = "key,body,image,tags,year,animal\na,x,p.png,food,1999,\n"
    items = items_of(tmp_path, content, id="key", text="body", labels=("tags",))
    assert (items.ids, items.texts, items.pictures) == (["a"], ["x"], ["p.png"])
    assert items.ignored == ("year",)
    assert states(items)[0][:2] == [U, Y]


# -- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "{path}: the file has no rows: give one row for each item"),
        ("id,text\n", "{path}: the file has no rows: give one row for each item"),
        ("id,text\na,x\na,y\n", "{path}, row 3, column 'id': the id 'a' stands in row 2 already: ids must be unique"),
        ("id,text\na,x\n ,y\n", "{path}, row 3, column 'id': the id is missing: give every item its own"),
        ("key,text\na,x\n", "{path}: there is no column 'id', only 'key', 'text': name it with --id"),
        (
            "id,labels\na,animal\nb,animal;car\n",
            "{path}, row 3, column 'labels': there is no concept 'car' in the taxonomy: did you mean 'cat'?",
        ),
        (
            "id,animal\na,maybe\n",
            "{path}, row 2, column 'animal': 'maybe' is neither 1, 0, yes, no, true, false nor empty",
        ),
        (
            "id,anmial\na,1\nb,\n",
            "{path}, column 'anmial': it holds yes and no, but no concept has this name: correct the name "
            "(did you mean 'animal'?), or say --ignore 'anmial'",
        ),
        (
            "id,text,animal\na,x,1\nb,y\n",
            "{path}, row 3: 2 fields for 3 columns: the row is cut off, or a text that contains ',' is not in quotes",
        ),
        (
            'id,text\na,x\nb,"never ends\n',
            "{path}, row 3: a text in quotes never ends: the file is cut off, or a quote is missing",
        ),
        (
            b"id,text\na,x\n" + "b,Käse\n".encode("latin-1"),
            "{path}, row 3: this is not UTF-8: save the file with the encoding UTF-8 (Excel: 'CSV UTF-8')",
        ),
        ("id,text,text\na,x,y\n", "{path}: the column 'text' stands twice: give every column its own name"),
        ("id,cat,kitty\na,1,1\n", "{path}: the columns 'cat' and 'kitty' are both 'animal > cat': keep one"),
        (
            "id,labels\na,cat;-cat\n",
            "{path}, row 2: 'animal > cat' is said to be relevant and irrelevant: keep one of them",
        ),
        (
            "id,labels,food\na,-food,1\n",
            "{path}, row 2: 'food' is said to be relevant and irrelevant: keep one of them",
        ),
        (
            "id,labels,cat\na,animal,\nb,cat,0\n",
            "{path}, row 3: 'animal > cat' is said to be relevant and irrelevant: keep one of them",
        ),
        (
            "id,animal,cat\na,1,\nb,0,1\nc,0,1\n",
            "{path}, row 3: 'animal > cat' is relevant but 'animal' is irrelevant, which cannot both be true: "
            "correct one (also row 4)",
        ),
    ],
)
def test_every_mistake_in_a_csv_file_is_one_sentence(tmp_path, content, message):
    refused(tmp_path, content, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"id": "a"}\n{"id": "b", "te',
            "{path}, row 2: this is not valid JSON: the file may be cut off: copy it again",
        ),
        ('{"id" "a"}\n{"id": "b"}\n', "{path}, row 1: this is not valid JSON: write one object on each line"),
        ('["a"]\n', '{path}, row 1: each line is an object such as {{"id": "a", "text": "..."}}'),
        ('{"id": "a", "id": "b"}\n', "{path}, row 1: 'id' stands twice: keep one"),
        ('{"id": ["a"]}\n', "{path}, row 1, column 'id': ['a'] is no id: give every item its own"),
        ('{"id": "a", "text": {"x": 1}}\n', "{path}, row 1, column 'text': this is not text: write it in quotes"),
        ('{"id": "a", "labels": [1]}\n', "{path}, row 1, column 'labels': labels are a list of names, not [1]"),
        ('{"id": "a", "text": "\\ud800"}\n', "{path}, row 1: it holds half of a character (\\ud...): mend it"),
        ("\n\n", "{path}: the file has no rows: give one row for each item"),
    ],
)
def test_every_mistake_in_a_jsonl_file_is_one_sentence(tmp_path, content, message):
    refused(tmp_path, content, message, "items.jsonl")


def test_other_files_are_refused(tmp_path):
    whole = tmp_path / "whole.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a", "b"]}), whole)
    message = "{path}: this is not a whole .parquet file; it may be cut off or of another kind: copy it again"
    refused(tmp_path, whole.read_bytes()[:-20], message, "cut.parquet")
    refused(tmp_path, "", message, "empty.parquet")
    endings = ".csv, .tsv, .xlsx, .jsonl or .parquet"
    refused(tmp_path, "x", f"{{path}}: a table ends in {endings}: save it as one of these", "items.xls")
    with pytest.raises(RamifyError, match="there is no such file"):
        read_items(tmp_path / "none.csv", TAXONOMY)


def test_a_name_that_two_concepts_bear_needs_its_path(tmp_path):
    taxonomy = Taxonomy({"fruit": ["orange"], "colour": ["orange"]})
    path = _written(tmp_path / "a.csv", "id,orange\na,1\n")
    with pytest.raises(RamifyError, match=r"column 'orange': 2 concepts are called 'orange': write its path"):
        read_items(path, taxonomy)
    assert read_items(_written(path, "id,fruit > orange\na,1\n"), taxonomy).labels.states().tolist() == [[1, -1]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([1, 0, -1]), min_size=8, max_size=8), min_size=1, max_size=6))
def test_columns_and_lists_say_the_same(tmp_path_factory, said):
    """Whatever is asserted, a column for each concept and a partial list mean the same, or are both refused."""
    folder = tmp_path_factory.mktemp("said")
    words = {1: "1", 0: "0", -1: ""}
    columns = ["id," + ",".join(CONCEPTS)] + [
        f"{number}," + ",".join(words[value] for value in row) for number, row in enumerate(said)
    ]
    lists = ["id,labels"] + [
        f"{number}," + ";".join(("" if v else "-") + name for name, v in zip(CONCEPTS, row, strict=True) if v >= 0)
        for number, row in enumerate(said)
    ]
    found = []
    for name, lines in (("columns.csv", columns), ("lists.csv", lists)):
        (folder / name).write_text("\n".join(lines) + "\n")
        try:
            found.append(read_items(folder / name, TAXONOMY, Layout(partial=True)).labels)
        except RamifyError as error:
            found.append(str(error).partition(", ")[2])
    assert found[0] == found[1]


# -- folders of pictures ---------------------------------------------------------------------------------------------


def test_a_folder_of_pictures_is_read_with_its_subfolders(tmp_path):
    for name in ("x.png", "cat/a.png", "food/apple/b.jpg", "misc/c.png", ".hidden/d.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    items = read_folder(tmp_path, TAXONOMY)
    assert items.ids == items.pictures == ["cat/a.png", "food/apple/b.jpg", "misc/c.png", "x.png"]
    assert states(items) == [[Y, N, Y, U, U, U, N, N], [N, Y, N, N, N, N, Y, U], [U] * 8, [U] * 8]
    assert (items.ignored, items.unlabelled) == (("misc",), 2)
    with pytest.raises(RamifyError, match="there is no picture in this folder"):
        read_folder(tmp_path / "food" / "none", TAXONOMY)


def test_drawings_are_named_as_left_out(tmp_path):
    for name in ("a.svg", "b.SVG", "notes.txt"):
        (tmp_path / name).write_text("<svg/>")
    left_out = "2 .svg files are left out: they hold no pixels, so save them as .png"
    with pytest.raises(RamifyError) as error:
        read_folder(tmp_path, TAXONOMY)
    assert str(error.value) == f"{tmp_path}: there is no picture in this folder: {left_out}"
    Image.new("RGB", (4, 4)).save(tmp_path / "c.png")
    items = read_folder(tmp_path, TAXONOMY)
    assert (items.ids, items.notes) == (["c.png"], (left_out,))


def test_links_to_folders_are_followed_once(tmp_path):
    for name in ("here/x.png", "here/dog/a.png", "there/b.png", "there/deep/c.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    here = tmp_path / "here"
    try:
        for link, to in (
            ("cat", "there"),
            ("again", "there"),
            ("back", "here"),
            ("dog/up", "here"),
            ("also", "here/dog"),
        ):
            (here / link).symlink_to(tmp_path / to, target_is_directory=True)
        (here / "nowhere").symlink_to(tmp_path / "none", target_is_directory=True)
        (here / "one.png").symlink_to(here / "x.png")
    except OSError:
        pytest.skip("there are no links here")
    assert read_folder(here, TAXONOMY).ids == ["again/b.png", "again/deep/c.png", "dog/a.png", "one.png", "x.png"]


def test_a_picture_whose_name_is_not_utf8_is_refused(tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.png"
    try:
        Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
        os.rename(tmp_path / "a.png", name)
    except OSError:
        pytest.skip("this file system refuses such a name")
    with pytest.raises(RamifyError) as error:
        read_folder(tmp_path, TAXONOMY)
    assert str(error.value) == f"{tmp_path}: the name of the picture 'caf\\udce9.png' is not UTF-8: rename it"


@pytest.mark.parametrize("column", ["id", "text", "picture"])
def test_half_of_a_character_is_refused_wherever_a_table_comes_from(column):
    table = Rows(Path("table"), {"id": ["a", "b"]} | {column: ["c", "d\ud800"]}, [1, 2])
    with pytest.raises(RamifyError) as error:
        _ids(table, column) if column == "id" else texts_of(table, column)
    assert str(error.value) == f"table, row 2, column '{column}': it holds half of a character (\\ud...): mend it"


def test_many_rows_are_read_quickly_enough_to_test(tmp_path):
    rows = ["id,labels"] + [f"{number},{'animal;food' if number % 3 else 'cat'}" for number in range(20_000)]
    items = items_of(tmp_path, "\n".join(rows))
    assert np.bincount(items.labels.states(concepts=["food"])[:, 0]).tolist() == [6667, 13333]


def test_large_and_small_letters_and_spaces_in_names_are_forgiven(tmp_path):
    taxonomy = Taxonomy({"Pet": ["guinea pig", "dog"], "toy": ["teddy_bear", "Dog"]})
    table = {
        "id": ["a", "b"],
        "labels": ["PET; Guinea-Pig", "Toy>Teddy  Bear"],
        "dog": ["0", ""],
        "toy > DOG": ["", "1"],
    }
    items = read_items(table, taxonomy)
    names = ["Pet", "guinea pig", "Pet > dog", "toy", "teddy_bear", "toy > Dog"]
    assert items.labels.states(concepts=names).tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    with pytest.raises(RamifyError, match="2 concepts are called 'DOG': write its path, 'Pet > dog' or 'toy > Dog'"):
        read_items({"id": ["a"], "labels": ["DOG"]}, taxonomy)
    with pytest.raises(
        RamifyError, match="there is no concept 'Guinea Pgi' in the taxonomy: did you mean 'guinea pig'"
    ):
        read_items({"id": ["a"], "labels": ["Guinea Pgi"]}, taxonomy)
