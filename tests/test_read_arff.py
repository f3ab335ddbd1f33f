"""Files of Mulan and MEKA: labels, features and texts of .arff, and the sentence for every mistake."""

import re

import numpy as np
import pytest
import scipy.io.arff
import scipy.sparse

from ramify.errors import RamifyError
from ramify.readers import arff

XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="amazed"></label>
<label name="quiet-still"></label>
</labels>
"""
NESTED = """<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="animal"><label name="dog"><label name="pug"/></label><label name="cat"/></label>
<label name="food"/>
</labels>
"""
MULAN = """% a comment
@RELATION emotions

@ATTRIBUTE mean NUMERIC
@attribute 'the deviation' real
@attribute amazed {0,1}
@attribute quiet-still {0, 1}
@DATA
0.5,1e-3,1,0
% another
-2,7,0,1

3, ?, 0, ?
"""


def written(folder, content: str, name="emotions.arff", xml: str | None = XML):
    path = folder / name
    path.write_text(content)
    if xml is not None:
        path.with_suffix(".xml").write_text(xml)
    return path


def refused(path, message: str) -> None:
    with pytest.raises(RamifyError, match=f"^{re.escape(message)}$"):
        arff.read(path)


def meka(labels: str, attributes: str, rows: str) -> str:
    return f"@relation 'made up: {labels}'\n{attributes}\n@data\n{rows}"


# -- what is read ----------------------------------------------------------------------------------------------------


def test_mulan_names_the_labels_in_a_file_beside(tmp_path):
    path = written(tmp_path, MULAN)
    assert arff.matches(path)
    items = arff.read(path)
    assert items.ids == ["1", "2", "3"]
    assert items.labels.taxonomy.names == ("amazed", "quiet-still")
    assert items.labels.states().tolist() == [[1, 0], [0, 1], [0, -1]]
    assert items.features.dtype == np.float32
    assert np.allclose(items.features, [[0.5, 0.001], [-2, 7], [3, (0.001 + 7) / 2]])
    assert items.notes == ("1 values of features are missing (?): each is the mean of its column",)
    assert [items.where(number) for number in (0, 2)] == [f"{path}, row 9", f"{path}, row 13"]


def test_the_only_xml_of_the_folder_serves_all_its_parts(tmp_path):
    (tmp_path / "emotions.xml").write_text(XML)
    items = arff.read(written(tmp_path, MULAN, "emotions-train.arff", None))
    assert items.labels.taxonomy.names == ("amazed", "quiet-still")


def test_nested_labels_are_levels(tmp_path):
    attributes = "\n".join(f"@attribute {name} {{0,1}}" for name in ("pug", "x", "dog", "animal", "food", "cat"))
    path = written(tmp_path, f"@relation r\n{attributes}\n@data\n1,1,1,1,0,0\n0,0,0,0,0,0\n?,0,1,1,0,1\n", xml=NESTED)
    items = arff.read(path)
    assert str(items.labels.taxonomy).split() == ["animal", "├──", "dog", "│", "└──", "pug", "└──", "cat", "food"]
    concepts = ["animal", "food", "dog", "cat", "pug"]
    assert items.labels.states(concepts=concepts).tolist() == [[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, -1]]
    assert items.labels.warm_items().tolist() == [0, 1]
    path = written(tmp_path, f"@relation r\n{attributes}\n@data\n0,0,0,0,0,0\n1,1,0,1,0,0\n", xml=NESTED)
    told = "'animal > dog > pug' is relevant but 'animal > dog' is irrelevant, which cannot both be true: correct one"
    refused(path, f"{path}, row 10: {told}")


@pytest.mark.parametrize(("count", "labels"), [("2", ("a", "b")), ("-2", ("c", "d"))])
def test_meka_counts_the_labels_from_the_front_or_the_end(tmp_path, count, labels):
    attributes = "\n".join(f"@attribute {name} {{0,1}}" for name in "abcd")
    path = written(tmp_path, meka(f"-C {count} -split-number 3", attributes, "1,0,0,1\n"), xml=None)
    items = arff.read(path)
    assert items.labels.taxonomy.names == labels
    assert items.labels.states().tolist() == [[1, 0] if count == "2" else [0, 1]]
    assert items.features.tolist() == [[0, 1] if count == "2" else [1, 0]]


def test_sparse_rows_stay_sparse(tmp_path):
    attributes = (
        "@attribute a {0,1}\n@attribute b numeric\n@attribute word0 {0,1}\n@attribute size numeric\n"
        "@attribute hue {red,'light blue'}"
    )
    rows = "{0 1, 3 0.3}\n{}\n{1 1,4 'light blue', 2 1}\n{ 3 ? , 1 ? }\n"
    items = arff.read(written(tmp_path, meka("-C 2", attributes, rows), xml=None))
    assert items.labels.states().tolist() == [[1, 0], [0, 0], [0, 1], [0, -1]]
    assert scipy.sparse.issparse(items.features)
    assert items.features.dtype == np.float32
    expected = [[0, 0.3, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0.1, 1, 0]]  # the unwritten hue is the first, red
    assert np.allclose(items.features.toarray(), expected)
    assert items.notes == ("1 values of features are missing (?): each is the mean of its column",)


def test_nominal_features_texts_and_ids(tmp_path):
    attributes = (
        '@attribute cat {no,yes}\n@attribute ID string\n@attribute "a text" string\n@attribute hue {red,blue}\n'
        "@attribute other string\n@attribute day date 'yyyy-MM-dd'"
    )
    rows = "yes,x1,'it\\'s, so',red,\"o\",2024-05-01\nno,x2,?,blue,o,?\nNO,x3,plain,?,o,?, {2.5}\n"
    items = arff.read(written(tmp_path, meka("-C 1", attributes, rows), xml=None))
    assert items.ids == ["x1", "x2", "x3"]
    assert items.texts == ["it's, so", None, "plain"]
    assert items.labels.states().tolist() == [[1], [0], [0]]
    assert items.features.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert items.ignored == ("other", "day")
    assert items.notes[1:] == ("the weights of rows were not read",)


def test_labels_without_features(tmp_path):
    items = arff.read(written(tmp_path, meka("-C 1", "@attribute a numeric", "1\n0.0\n"), xml=None))
    assert items.features is None
    assert items.labels.states().tolist() == [[1], [0]]


def test_scipy_reads_the_same(tmp_path):
    """A dense file of numbers and labels, as large as one that is worth comparing."""
    random = np.random.default_rng(0)
    values, labels = random.normal(size=(200, 12)), random.integers(0, 2, (200, 3))
    attributes = "\n".join(
        [*(f"@attribute f{n} numeric" for n in range(12)), *(f"@attribute l{n} {{0,1}}" for n in range(3))]
    )
    rows = "\n".join(
        ",".join([*map(repr, map(float, row)), *map(str, said)]) for row, said in zip(values, labels, strict=True)
    )
    path = written(tmp_path, meka("-C -3", attributes, rows), xml=None)
    theirs, meta = scipy.io.arff.loadarff(path)
    ours = arff.read(path)
    assert meta.names()[12:] == list(ours.labels.taxonomy.names)
    assert np.array_equal(ours.features, np.stack([theirs[f"f{n}"] for n in range(12)], axis=1).astype(np.float32))
    assert np.array_equal(ours.labels.states(), np.stack([theirs[f"l{n}"].astype(int) for n in range(3)], axis=1))


# -- mistakes --------------------------------------------------------------------------------------------------------

A_AND_X = "@attribute a {0,1}\n@attribute x numeric"  # so that the rows begin in line 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "1,2\n1\n",
            ", row 6: 1 values for 2 attributes: the row is cut off, or a text that contains ',' is not in quotes",
        ),
        (
            "1,2,3\n",
            ", row 5: 3 values for 2 attributes: the row is cut off, or a text that contains ',' is not in quotes",
        ),
        ("2,2\n", ", row 5, attribute 'a': '2' is neither 1, 0 nor ?: labels are one of these"),
        ("-1,2\n", ", row 5, attribute 'a': '-1' is neither 1, 0 nor ?: labels are one of these"),
        ("1,two\n", ", row 5, attribute 'x': 'two' is no finite number of at most 1e+18"),
        ("1,nan\n", ", row 5, attribute 'x': 'nan' is no finite number of at most 1e+18"),
        ("1,1e300\n", ", row 5, attribute 'x': '1e300' is no finite number of at most 1e+18"),
        ("1,'2\n", ", row 5: a text in quotes never ends: the file is cut off, or a quote is missing"),
        ("", ": there are no rows after @data: give one for each item"),
        ("{0 1}\n{0 1", ", row 6: it begins with { but is not whole: the file is cut off, or a sign is missing"),
        ("{0}\n", ", row 5: it begins with { but is not whole: the file is cut off, or a sign is missing"),
        ("{2 1}\n", ", row 5: the attribute number '2' is none from 0 to 1: mend it"),
        ("{x 1}\n", ", row 5: the attribute number 'x' is none from 0 to 1: mend it"),
        ("{0 1, 0 1}\n", ", row 5: the attribute number '0' stands twice: mend it"),
        ("1,2\n{0 1}\n", ", row 6: rows with and without { } are mixed: write all in one way"),
    ],
)
def test_every_mistake_in_a_row_is_one_sentence(tmp_path, rows, message):
    path = written(tmp_path, meka("-C 1", A_AND_X, rows), xml=None)
    refused(path, f"{path}{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": there is no @data: the file is cut off, or of another kind"),
        ("@relation r\n@attribute a {0,1}\n", ": there is no @data: the file is cut off, or of another kind"),
        ("id,text\na,b\n", ", row 1: 'id,text' is neither @relation, @attribute, @data nor %"),
        (
            "@relation 'r: -C 1'\n@attribute a\n",
            ", row 2: '@attribute a' has no type: write for example @attribute weight numeric",
        ),
        ("@relation r\n@attribute a {0,1\n", ", row 2: the values of 'a' are not closed: they stand between { and }"),
        (
            "@relation r\n@attribute a relational\n",
            ", row 2: 'relational' is no type that Ramify reads: numeric, {a, b}, string or date",
        ),
        (
            "@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n",
            ": the attribute 'a' stands twice: rename one of them",
        ),
        (
            "@relation 'r: -C 3'\n@attribute a {0,1}\n@data\n",
            ": the relation says '-C 3', but there are 1 attributes: correct it",
        ),
        (
            "@relation r\n@attribute a {0,1}\n@data\n1\n",
            ": nothing says which attributes are labels: put emotions.xml with <labels> beside it (Mulan), or -C and "
            "their number into the relation's name (MEKA)",
        ),
        (
            "@relation 'r: -C 1'\n@attribute 'a > b' {0,1}\n@data\n1\n",
            ": the name 'a > b' contains '>', which separates the names of a path: rename it",
        ),
    ],
)
def test_every_mistake_in_the_head_is_one_sentence(tmp_path, content, message):
    path = written(tmp_path, content, xml=None)
    refused(path, f"{path}{message}")


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels></labels>", "{xml}: it names no label: write <label name='...'></label> for each"),
        ("<html/>", "{xml}: it holds <html>, not <labels>: give the labels' own file"),
        ("<labels><tag/></labels>", "{xml}: <tag> is no label: write <label name='...'>"),
        ("<labels><label name='x'/><label name='x'/></labels>", "{xml}: the label 'x' stands twice: keep one"),
        (
            "<labels><label name='x'/></labels>",
            "{path}: there is no attribute for the label 'x': correct one of the names",
        ),
    ],
)
def test_every_mistake_in_the_file_of_labels_is_one_sentence(tmp_path, xml, message):
    path = written(tmp_path, MULAN, xml=xml)
    refused(path, message.format(path=path, xml=path.with_suffix(".xml")))


def test_a_truncated_file_of_labels_is_one_sentence(tmp_path):
    path = written(tmp_path, MULAN, xml=XML[:120])
    with pytest.raises(RamifyError, match=r"emotions.xml: this is not valid XML \(.*\): the file may be cut off$"):
        arff.read(path)


def test_ids_are_unique_and_files_are_utf_8(tmp_path):
    path = written(tmp_path, meka("-C 1", "@attribute a {0,1}\n@attribute id string", "1,x\n1,y\n1,x\n"), xml=None)
    refused(path, f"{path}, row 7: the id 'x' stands in row 5 already: ids must be unique")
    path.write_bytes(path.read_bytes().replace(b"y", b"\xff"))
    refused(path, f"{path}, row 6: this is not UTF-8: save the file with this encoding")


def test_other_files_are_not_taken_for_it(tmp_path):
    (tmp_path / "folder.arff").mkdir()
    assert not arff.matches(tmp_path / "folder.arff")
    assert not arff.matches(written(tmp_path, "id\na\n", "items.csv", None))
