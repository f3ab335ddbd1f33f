"""What a project is written as for other tools, and read again by Ramify's own readers."""

import json

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.concepts import Concept
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store.store import Item, Store
from ramify.project.transfer.exporting import export_known, export_labels, export_predicted
from ramify.project.transfer.writers import WRITERS, Part, Said
from ramify.readers import propose, read_for
from ramify.readers.annotations import is_mark
from ramify.taxonomy import Taxonomy
from test_cli import ramify

TAXONOMY = Taxonomy({"animal": {"dog": ["pug", "Dackel ü"], "cat": None}, "food": ["apple"]})
NAMES = ("other", "猫", "naïve café", "two words", "Ω", "a-b", "ф")


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        known = [[1, 1, 1, 0, 0, 0, 0], [1, -1, -1, -1, -1, -1, -1], [-1] * 7, [0] * 7]
        labels = Labels.from_matrix(TAXONOMY, known, TAXONOMY.preorder)
        store.add(["1", "ü", "c", "d"], ["one", "two", None, "four"], None, None, labels)
        yield store


@st.composite
def known(draw) -> tuple[Taxonomy, np.ndarray, list[str]]:
    """Three levels with names that repeat, and items of which everything is known, a part, or nothing."""
    size = draw(st.integers(1, 8))
    names, parents, levels, taken = [], [], [], set()
    for _ in range(size):
        above = draw(st.sampled_from([-1, *(n for n, level in enumerate(levels) if level < 2)]))
        name = draw(st.sampled_from(NAMES))
        if (above, name) not in taken:
            taken.add((above, name))
            names.append(name)
            parents.append(above)
            levels.append(0 if above < 0 else levels[above] + 1)
    taxonomy = Taxonomy.of([Concept(name, above) for name, above in zip(names, parents, strict=True)])
    ids = draw(
        st.lists(st.text("abü猫 7", min_size=1).map(lambda text: f"i{text}i"), min_size=1, max_size=4, unique=True)
    )
    states = np.array(draw(st.lists(st.lists(st.integers(0, 1), min_size=len(taxonomy), max_size=len(taxonomy)),
                                    min_size=len(ids), max_size=len(ids))), np.int8)  # fmt: skip
    for concept in taxonomy.preorder[::-1].tolist():
        if taxonomy.parents[concept] >= 0:
            states[:, taxonomy.parents[concept]] |= states[:, concept]
    every = np.arange(len(taxonomy))
    for row in states:
        row[draw(st.one_of(st.just([]), st.just(every), st.lists(st.sampled_from(every.tolist()))))] = -1
    return taxonomy, Labels.from_matrix(taxonomy, states, every).states(concepts=every), ids  # with what follows


def said_by(form: str, taxonomy: Taxonomy, states: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """What a format can say of it, and the sentences on the rest."""
    yes, nothing = states == 1, (states == -1).all(axis=1)
    if form == "wide":
        return states, []
    if form == "label-studio":
        unknown, no = ((states == value).sum() for value in (-1, 0))
        lost = f"{unknown} entries are unknown and {no} are no: Label Studio records only what applies."
        read = [_chosen(taxonomy, row) for row in states]
        return np.array(read, np.int8), [lost] if unknown else []
    silent = ~yes.any(axis=1) if form == "coco" else nothing
    tool = {"coco": "COCO", "fiftyone": "FiftyOne", "huggingface": "Hugging Face"}[form]
    unknown = (states[~silent] == -1).sum()
    sentences = [f"{unknown} entries are unknown, which {tool} cannot say: it reads them as no."] if unknown else []
    if form == "coco":
        lost = f"{silent.sum()} items without anything that applies say nothing in COCO."
        sentences += [lost] if silent.any() else []
        sentences += [f"{len(states)} items have no picture, so COCO has no file_name for them."]
    return np.where(silent[:, None], -1, yes).astype(np.int8), sentences


def _chosen(taxonomy: Taxonomy, row: np.ndarray) -> np.ndarray:
    """What an annotation of nobody says: its noes too where all that was offered is known."""
    above = taxonomy.parents
    offered = (above < 0) | (row[above] == 1)
    if not (row == 1).any() and (row[taxonomy.roots] != 0).any():
        return np.full_like(row, -1)
    if (row[offered] == -1).any():
        return np.where(row == 1, 1, -1)
    read = row.copy()
    for concept in np.flatnonzero(row == 1).tolist():
        if (row[taxonomy.children(concept)] == 0).all():
            read[taxonomy.descendants(concept)] = -1  # what is below a choice of which nothing finer is chosen
    return read


@pytest.mark.parametrize("form", ["wide", "coco", "label-studio", "fiftyone", "huggingface"])
@given(drawn=known())
def test_what_is_known_comes_back(form, drawn, tmp_path_factory):
    taxonomy, states, ids = drawn
    path = tmp_path_factory.mktemp(form) / f"written{WRITERS[form].ENDING}"
    items = [Item(number, name, "a text", None) for number, name in enumerate(ids)]
    said = Said(taxonomy, taxonomy.preorder, [Part(items, states[:, taxonomy.preorder])])
    config = f"The labelling config is {path.with_suffix('.xml')}. "
    lost = WRITERS[form].write(path, said).replace(config.strip(), "").strip()
    can_say, sentences = said_by(form, taxonomy, states)
    assert lost == " ".join(sentences)
    read = read_for(path, taxonomy)
    assert read.ids == ids
    assert read.labels.states(concepts=np.arange(len(taxonomy))).tolist() == can_say.tolist()


def test_wide(store, tmp_path):
    assert export_known(store, tmp_path / "l.csv", WRITERS["wide"]) == (4, "")
    assert (tmp_path / "l.csv").read_text().splitlines()[:3] == [
        "id,animal,animal > dog,animal > dog > pug,animal > dog > Dackel ü,animal > cat,food,food > apple",
        "1,yes,yes,yes,no,no,no,no",
        "ü,yes,unknown,unknown,unknown,unknown,unknown,unknown",
    ]
    read, _ = propose(tmp_path / "l.csv")
    assert read.to_dict() == TAXONOMY.to_dict()
    export_labels(store, tmp_path / "long.csv")
    long = r"long.csv: it has a row for each entry, as `ramify export` writes it: items need a row each"
    with pytest.raises(RamifyError, match=rf"{long} \(`ramify export --format wide`\)$"):
        read_for(tmp_path / "long.csv", TAXONOMY)
    with pytest.raises(RamifyError, match=r"^the concept 'id' is called like the column of ids: write another format$"):
        WRITERS["wide"].write(tmp_path / "x.csv", Said(Taxonomy({"id": None}), np.arange(1), []))


def test_coco(store, tmp_path):
    lost = (
        "6 entries are unknown, which COCO cannot say: it reads them as no. "
        "2 items without anything that applies say nothing in COCO. "
        "4 items have no picture, so COCO has no file_name for them."
    )
    assert export_known(store, tmp_path / "l.json", WRITERS["coco"]) == (4, lost)
    with pytest.raises(RamifyError, match=r"coco: this format is a file that ends in .json: give it such a name$"):
        export_known(store, tmp_path / "coco", WRITERS["coco"])
    written = json.loads((tmp_path / "l.json").read_text())
    assert [image["id"] for image in written["images"]] == [1, "ü", "c", "d"]
    names = {category["id"]: category for category in written["categories"]}
    found = [(entry["image_id"], names[entry["category_id"]]["name"]) for entry in written["annotations"]]
    assert found == [(1, "pug"), ("ü", "animal")]
    assert {c["name"]: c.get("supercategory") for c in written["categories"]}["pug"] == "animal > dog"


def test_fiftyone(store, tmp_path):
    lost = "6 entries are unknown, which FiftyOne cannot say: it reads them as no."
    assert export_known(store, tmp_path / "l.json", WRITERS["fiftyone"]) == (4, lost)
    labels = json.loads((tmp_path / "l.json").read_text())["labels"]
    assert labels == {"1": ["animal", "animal > dog", "animal > dog > pug"], "ü": ["animal"], "c": None, "d": []}


def test_hugging_face(store, tmp_path):
    lost = "6 entries are unknown, which Hugging Face cannot say: it reads them as no."
    assert export_known(store, tmp_path / "hf", WRITERS["huggingface"]) == (4, lost)
    table = pyarrow.parquet.read_table(tmp_path / "hf" / "data.parquet")
    assert table.column("labels").to_pylist() == [[0, 1, 2], [0], None, []]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RamifyError, match=r"file is a file: give the name of a folder to write to$"):
        export_known(store, tmp_path / "file", WRITERS["huggingface"])


def test_hugging_face_with_pictures_and_texts(tmp_path):
    """Which file it is, all items decide: not those of the first block."""
    taxonomy = Taxonomy({"animal": ["cat"]})

    def written(name, *shown):
        items = [Item(number, f"i{number}", *what) for number, what in enumerate(shown)]
        parts = [Part([item], np.array([[1, item.number % 2]], np.int8)) for item in items]
        lost = WRITERS["huggingface"].write(tmp_path / name, Said(taxonomy, taxonomy.preorder, parts))
        read = read_for(tmp_path / name, taxonomy)
        assert read.labels.states(concepts=taxonomy.preorder).tolist() == [part.states[0].tolist() for part in parts]
        assert list(zip(read.ids, read.texts, read.pictures, strict=True)) == [(i.id, i.text, i.picture) for i in items]
        (file,) = (tmp_path / name).iterdir()
        return file.name, pyarrow.parquet.read_schema(file).names, lost

    both, one, other = ("x", "a/b.jpg"), ("y", None), (None, "c.jpg")
    assert written("both", both, other) == ("metadata.parquet", ["id", "file_name", "text", "labels"], "")
    assert written("pictures", other) == ("metadata.parquet", ["id", "file_name", "labels"], "")
    assert written("texts", one, one) == ("data.parquet", ["id", "text", "labels"], "")
    lost = "1 items have no picture, so data.parquet is a table of all items, not an image folder."
    for name, shown in (("some", (both, one, other)), ("first", (one, other, both))):
        assert written(name, *shown) == ("data.parquet", ["id", "file_name", "text", "labels"], lost)
    mine = tmp_path / "both" / "metadata.parquet"
    refused = f"^{mine}: it would be read in place of what is written, which is not about pictures alone: give another"
    with pytest.raises(RamifyError, match=refused):
        written("both", one)
    assert list((tmp_path / "both").iterdir()) == [mine]


def test_label_studio(store, tmp_path):
    lost = (
        f"The labelling config is {tmp_path / 'l.xml'}. "
        "13 entries are unknown and 11 are no: Label Studio records only what applies."
    )
    assert export_known(store, tmp_path / "l.json", WRITERS["label-studio"]) == (4, lost)
    assert export_known(store, tmp_path / "l.json", WRITERS["label-studio"]) == (4, lost)  # its own config is replaced
    (tmp_path / "m.xml").write_text('<View><Choices name="k" toName="t"><Choice value="a"/></Choices></View>')
    refused = r"m\.xml is a labelling config that Ramify did not write: give another --out"
    with pytest.raises(RamifyError, match=refused):
        export_known(store, tmp_path / "m.json", WRITERS["label-studio"])
    assert not (tmp_path / "m.json").exists()
    tasks = json.loads((tmp_path / "l.json").read_text())
    assert tasks[0]["data"] == {"id": 1, "text": "one"}
    about = {"from_name": "concepts", "to_name": "text", "type": "taxonomy"}
    assert tasks[0]["annotations"][0]["result"] == [{**about, "value": {"taxonomy": [["animal", "dog", "pug"]]}}]
    assert ["annotations" in task for task in tasks] == [True, True, False, True]
    nothing = tasks[3]["annotations"][0]
    assert (nothing["result"], nothing["ground_truth"], is_mark(nothing["id"])) == ([], False, True)
    assert Taxonomy.load(tmp_path / "l.xml") == TAXONOMY


@pytest.mark.parametrize("form", ["coco", "label-studio", "fiftyone", "huggingface"])
def test_predictions_have_a_confidence(form, tmp_path):
    taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    items = [Item(0, "a", None, "a.jpg"), Item(1, "b", None, "b.jpg")]
    blocks = [(np.arange(2), np.array([[0.9, 0.7], [0.1, 0.2]], np.float32), np.array([[True, True], [False, False]]))]
    path = tmp_path / f"p{WRITERS[form].ENDING}"
    count, _ = export_predicted(
        path, WRITERS[form], taxonomy, lambda n: [items[i] for i in n], iter(blocks), "ramify 3"
    )
    assert count == 2
    if form == "huggingface":
        rows = pyarrow.parquet.read_table(path / "metadata.parquet").to_pylist()
        assert [(row["file_name"], row["labels"], np.round(row["scores"], 4).tolist()) for row in rows] == [
            ("a.jpg", [0, 1], [0.9, 0.7]),
            ("b.jpg", [], []),
        ]
        assert read_for(path, taxonomy).ids == ["a", "b"]
        return
    written = json.loads(path.read_text())
    if form == "coco":
        assert [(entry["image_id"], entry["score"]) for entry in written["annotations"]] == [("a", 0.9), ("a", 0.7)]
    elif form == "fiftyone":
        assert written["labels"]["a"][1] == {"label": "animal > dog", "confidence": 0.7}
        assert written["labels"]["b"] == []
    else:
        first, second = (task["predictions"][0] for task in written)
        assert (first["model_version"], first["score"], second["score"], second["result"]) == ("ramify 3", 0.7, 0, [])
        assert first["result"][0]["value"]["taxonomy"] == [["animal", "cat"], ["animal", "dog"]]
        assert written[0]["data"] == {"id": "a", "image": "/data/local-files/?d=a.jpg"}


@pytest.mark.parametrize("form", list(WRITERS))
def test_what_cannot_be_finished_is_not_there(form, tmp_path):
    def parts():
        yield Part([Item(0, "a", "x", None)], np.ones((1, len(TAXONOMY)), np.int8))
        raise RamifyError("the disk of the project is gone")

    path = tmp_path / f"l{WRITERS[form].ENDING}"
    with pytest.raises(RamifyError, match=r"^the disk of the project is gone$"):
        WRITERS[form].write(path, Said(TAXONOMY, TAXONOMY.preorder, parts()))
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_the_command(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ramify("export", "project", "--format", "wide").stdout == "Wrote 4 items to project-labels.csv.\n"
    assert "Wrote 4 items to project-labels. 6 entries" in ramify("export", "project", "--format", "huggingface").stdout
    every = "csv, jsonl, parquet, wide, coco, label-studio, fiftyone, huggingface"
    for wrong, sentence in {
        ("--format", "voc"): f"the format 'voc' is none of {every}: choose one with --format",
        ("--format", "coco", "--known"): "--known is for csv, jsonl and parquet, not for coco",
        ("--format", "coco", "--events"): "--events is for csv, jsonl and parquet, not for coco",
    }.items():
        result = ramify("export", "project", *wrong)
        assert result.returncode
        assert sentence in " ".join(result.stderr.split())
