"""Any bytes as a file of every kind that Ramify reads: it is read, or refused with a RamifyError."""

import io
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ramify.data import Dataset
from ramify.data.shards import read_features
from ramify.errors import RamifyError
from ramify.files import read_npy
from ramify.labels import Labels
from ramify.project.store.store import Store
from ramify.project.transfer.answer_table import answer_from_table
from ramify.readers import hugging_face, mirflickr, open_images, read, read_for
from ramify.readers.formats import Format
from ramify.taxonomy import Taxonomy
from store_checks import TAXONOMY, filled

HERE = Path(__file__).parent
DATA = HERE / "data"
CORPUS = DATA / "fuzz"
"""What went wrong once, and what is refused, by kind: KIND-ANYTHING, from benchmarks/fuzz.py."""


def restore(path: Path) -> None:
    folder = path.with_name("restored")
    try:
        Store.restore(path, folder)
        with Store(folder) as store:
            store.labels()
            store.events()
            store.features()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answer(path: Path) -> None:
    with Store(path.parent / "project") as store:
        answer_from_table(store, path)


def in_folder(form: Format) -> Callable[[Path], object]:
    return lambda path: form.read(path.parent)


READ: dict[str, tuple[str, Callable[[Path], object]]] = {
    "csv": ("items.csv", read),
    "items": ("items.csv", lambda path: read_for(path, TAXONOMY)),
    "jsonl": ("items.jsonl", read),
    "coco": ("instances.json", read),
    "fiftyone": ("samples.json", read),
    "label-studio": ("tasks.json", lambda path: read(f"label-studio:{path}")),
    "xml": ("taxonomy.xml", Taxonomy.load),
    "arff": ("yeast.arff", read),
    "parquet": ("items.parquet", read),
    "xlsx": ("items.xlsx", read),
    "bundle": ("bundle.npz", read),
    "labels": ("labels.npz", Labels.load),
    "array": ("features.npy", read_npy),
    "yaml": ("taxonomy.yaml", Taxonomy.load),
    "json": ("taxonomy.json", Taxonomy.load),
    "backup": ("backup.zip", restore),
    "answers": ("answers.csv", answer),
    "config": ("config.xml", Taxonomy.load),
    "metadata": ("metadata/metadata.jsonl", in_folder(hugging_face)),
    "hub": ("hub/train-00000-of-00001.parquet", in_folder(hugging_face)),
    "saved": ("saved/dataset_info.json", in_folder(hugging_face)),
    "images": ("images/train-annotations-human-imagelabels.csv", in_folder(open_images)),
    "hierarchy": ("hierarchy/bbox_labels_600_hierarchy.json", in_folder(open_images)),
    "mirflickr": ("mirflickr/baby.txt", in_folder(mirflickr)),
    "shard": ("shard/part-00000.parquet", lambda path: read_features(path.parent, ids=["a", "b"])),
}
"""By kind: the name of a file, and who reads it."""


def prepare(folder: Path) -> None:
    """What some readers need beside the file."""
    filled(folder / "project").close()
    for name, _ in READ.values():
        (folder / name).parent.mkdir(exist_ok=True)
    shutil.copytree(DATA / "hugging-face" / "several", folder / "saved", dirs_exist_ok=True)
    for kind in ("images", "hierarchy"):
        shutil.copytree(DATA / "open_images", folder / kind, dirs_exist_ok=True)
    for label in mirflickr.LABELS:
        (folder / "mirflickr" / f"{label}.txt").write_text("1\n2\n")


def try_one(kind: str, content: bytes, folder: Path) -> RamifyError | None:
    """Read some bytes as a kind of file, and why it is refused; any other error than RamifyError is a fault of ours."""
    name, reader = READ[kind]
    path = folder / name
    path.write_bytes(content)
    try:
        reader(path)
    except RamifyError as error:
        str(error).encode()  # or no terminal could show it
        return error
    return None


def seeds() -> dict[str, list[bytes]]:
    """A whole file of each kind, to begin with."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        exhaustive = Taxonomy.from_arrays(TAXONOMY.names, TAXONOMY.parents, exhaustive=True)
        labels = Labels.from_matrix(exhaustive, np.eye(4, dtype=int))
        Dataset(labels, np.eye(4), list("abcd"), split=[0, 1, 2, 0]).save(folder / "bundle.npz")
        labels.save(folder / "labels.npz")
        with filled(folder / "filled") as store:
            store.record("k", "ann", [(0, 1, "yes")])
            store.backup(folder / "backup.zip")
        import openpyxl
        import pyarrow
        import pyarrow.parquet

        columns = {"id": ["a", "b"], "text": ["x", None], "labels": [["cat"], []]}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / "items.parquet")
        vectors = pyarrow.array([[0.5, 1.0], [2.0, 3.0]], pyarrow.list_(pyarrow.float32(), 2))
        pyarrow.parquet.write_table(pyarrow.table({"id": ["a", "b"], "features": vectors}), folder / "part.parquet")
        book = openpyxl.Workbook()
        for row in (["id", "text", "labels"], ["a", "purrs", "cat;dog"], ["b", 3.5, None]):
            book.active.append(row)
        book.save(folder / "items.xlsx")
        array = io.BytesIO()
        np.save(array, np.arange(6.0).reshape(2, 3))
        coco = {
            "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
            "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1}],
        }
        samples = {"samples": [{"filepath": "a.jpg", "labels": {"_cls": "Classifications", "classifications": []}}]}
        tasks = [
            {
                "id": n,
                "data": {"text": "x"},
                "annotations": [
                    {
                        "id": n,
                        "completed_by": 1,
                        "updated_at": "2026-11-18T19:38:12Z",
                        "result": [{"from_name": "k", "type": "taxonomy", "value": {"taxonomy": [["animal", "cat"]]}}],
                    }
                ],
            }
            for n in (1, 2)
        ]
        config = b'<View><Text name="t" value="$t"/><Choices name="k" toName="t"><Choice value="cat"/></Choices></View>'
        arff = b"@relation y\n@attribute x numeric\n@attribute c {0,1}\n@data\n1.5,1\n?,0\n"
        kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        return {
            "csv": [b'id,text,labels\na,"x, ""y""",animal > cat\nb,,none\n', b"a;b\n1;2\n"],
            "items": [b"id,text,labels,food\na,x,cat;-dog,1\nb,,none,0\n"],
            "jsonl": [b'{"id": "a", "labels": ["cat", {"x": 1}]}\n{"id": 2, "text": "\\u00e9"}\n'],
            "coco": [json.dumps(coco).encode()],
            "fiftyone": [json.dumps(samples).encode()],
            "label-studio": [json.dumps(tasks).encode()],
            "xml": [config],
            "arff": [arff],
            "parquet": [kept["items.parquet"]],
            "xlsx": [kept["items.xlsx"]],
            "bundle": [kept["bundle.npz"]],
            "labels": [kept["labels.npz"]],
            "array": [array.getvalue()],
            "yaml": [b"animal: {exhaustive: true, cat: null, dog: [poodle, pug]}\ntemplates: ['a {}']\n"],
            "json": [b'{"animal": ["cat", "dog"], "food": {"fruit": ["apple"]}}'],
            "backup": [kept["backup.zip"]],
            "config": [
                b'<View><Text name="t" value="$text"/><Taxonomy name="kind" toName="t">'
                b'<Choice value="animal"><Choice value="cat" alias="c" hint="purrs"/></Choice></Taxonomy></View>'
            ],
            "metadata": [
                b'{"file_name": "a.png", "label": "cat"}\n{"file_name": "b/c.png", "label": ["cat", "dog"]}\n'
            ],
            "hub": [(DATA / "hugging-face" / "parquet" / "data" / "train-00000-of-00001.parquet").read_bytes()],
            "saved": [(DATA / "hugging-face" / "several" / "dataset_info.json").read_bytes()],
            "images": [(DATA / "open_images" / "train-annotations-human-imagelabels.csv").read_bytes()],
            "hierarchy": [(DATA / "open_images" / "bbox_labels_600_hierarchy.json").read_bytes()],
            "mirflickr": [b"1\n 17\n25000\n"],
            "shard": [kept["part.parquet"]],
            "answers": [b"id,concept,answer\ni0,animal > cat,yes\ni1,dog,\n", b"id,choices,answer\ni0,cat;dog,cat\n"],
        }
