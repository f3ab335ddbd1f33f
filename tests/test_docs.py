"""Every example of the documentation runs, page by page, in a folder where what it names is at hand.

Results keep the commands that printed them, which took hours; the page on scale has a test of its own (Ray, torchrun).
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ramify
from ramify.cli import app
from ramify.demo import scenes
from ramify.readers.mirflickr import IMAGES, LABELS
from web_projects import LocalServer, text_project

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
sys.path.append(str(ROOT / "docs"))
import commands  # noqa: E402  (the script that writes the page of commands)

LANGUAGES = {"python", "sh", "yaml", "json", "text"}
PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "results" not in path.parts and path.stem not in ("scale", "commands")
]
ELSEWHERE = {"pip", "createdb"}  # they install something, or need a database that another test brings
SMALLER = {  # the same command on little data, with less of everything
    "start": ["--no-serve"],
    "compare": ["--learners", "leml,coarse-prior", "--warm", "16", "--seeds", "1"],
    "simulate": ["--warm", "16", "--batch", "10", "--rounds", "1", "--seeds", "1"],
    "reproduce": shlex.split(
        "--quick --seeds 1 --ratios -2 --tune 0 --learners leml --settings ours --strategies random --rounds 1"
    ),
}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Each example with its language."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_every_example_says_its_language():
    for page in [*PAGES, *(ROOT / "docs").glob("results/*.md")]:
        for language, example in blocks(page):
            assert language in LANGUAGES, (page, example)


def test_the_page_of_commands_is_what_the_commands_say():
    said = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert said == commands.page(), "run  python docs/commands.py > docs/commands.md"


# -- what a page finds in its folder -----------------------------------------------------------------------------------


def bundle() -> None:
    scenes.read(120).save("my_bundle.npz")


def pictures(folder: str, names: list[str]) -> None:
    Path(folder).mkdir(parents=True)
    for number, name in enumerate(names):
        scenes.draw(0, number)[0].save(Path(folder, name))


def home() -> None:
    import pandas

    pictures("photos/cat", ["1.png", "2.png"])
    pictures("photos/dog", ["3.png", "4.png"])
    Path("my.yaml").write_text("toy: [ball, kite]\ntool: [hammer, saw]\n")
    things = {
        "text": ["a red ball", "a kite", "a small saw", "a hammer"] * 3,
        "labels": ["toy", "toy", "tool", "tool"] * 3,
    }
    pandas.DataFrame({"id": range(12), **things}).to_excel("products.xlsx", index=False)
    coco("instances.json", "val2017")


def coco(file: str, images: str) -> None:
    shutil.copy(DATA / "coco" / "instances_made_up.json", file)
    pictures(images, [f"COCO_val2014_{number:012}.jpg" for number in (42, 73, 74)])


def fiftyone() -> None:
    shutil.copytree(DATA / "fiftyone", "exported")
    pictures("exported/data/sub", ["two.png"])
    for number, name in enumerate(["one", "three", "four", "five", "six", "seven"]):
        scenes.draw(0, number)[0].save(f"exported/data/{name}.png")


def hugging_face() -> None:
    shutil.copytree(DATA / "hugging-face" / "parquet", "FOLDER")
    Path("pictures").mkdir()


def label_studio() -> None:
    names = ("cat", "dog")
    value = [{"taxonomy": [["animal", name]]} for name in names]
    said = [[{"from_name": "kind", "to_name": "t", "type": "taxonomy", "value": one}] for one in value]
    tasks = [
        {
            "id": n,
            "data": {"text": f"it is number {n}"},
            "annotations": [{"id": n, "completed_by": 1, "result": said[n % 2]}],
        }
        for n in range(8)
    ]
    tasks += [{"id": n, "data": {"text": f"it is number {n}"}, "annotations": []} for n in range(8, 12)]
    Path("tasks.json").write_text(json.dumps(tasks))
    ramify.Taxonomy({"animal": list(names), "food": None}).save("tasks.xml")
    config = Path("tasks.xml").read_text()
    Path("tasks.xml").write_text(config.replace('name="concepts"', 'name="kind"'))


def arff() -> None:
    rows = "".join(f"{number / 10},{number % 2},{number % 3 % 2}\n" for number in range(12))
    header = (
        "@relation 'emotions: -C -2'\n@attribute loud numeric\n@attribute calm {0,1}\n@attribute sad {0,1}\n@data\n"
    )
    Path("emotions.arff").write_text(header + rows)


def mirflickr() -> None:
    Path("mirflickr").mkdir()
    for label in LABELS:
        Path("mirflickr", f"{label}.txt").write_text("1\n2\n" if label.startswith("dog") else "1\n2\n3\n")
    np.save("features.npy", np.zeros((IMAGES, 4), np.float32))


def open_images() -> None:
    shutil.copytree(DATA / "open_images", "open-images")
    pictures("open-images/validation", ["001a.jpg", "001b.jpg", "001c.jpg"])


def onnx_model() -> None:
    import onnx

    picture = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 3, None, None])
    pooled = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 3, 1, 1])
    node = onnx.helper.make_node("GlobalAveragePool", ["x"], ["y"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "pooled", [picture], [pooled])), "model.onnx")


def table() -> dict[str, list[Any]]:
    return {"id": list(range(30)), "text": ["it purrs", "it barks", "it meows"] * 10, "labels": ["animal"] * 30}


def damage() -> None:
    ramify.Project.create("damage", {"crack": None, "scratch": None, "surface": ["dent"]})


STAGES: dict[str, Callable[[], None]] = {
    "active": bundle,
    "learners": bundle,
    "index": home,
    "formats/coco": lambda: coco("instances_train2014.json", "train2014"),
    "formats/arff": arff,
    "formats/mirflickr": mirflickr,
    "formats/open-images": open_images,
    "data": onnx_model,
    "taxonomies": damage,
    "formats/fiftyone": fiftyone,
    "formats/label-studio": label_studio,
    "coming-from": label_studio,
    "formats/hugging-face": hugging_face,
}
NAMES: dict[str, Callable[[], dict[str, Any]]] = {  # what an example takes for given
    "project": lambda: {"table": table()},
    "formats/hugging-face": lambda: {"dataset": [{"image": scenes.draw(0, 0)[0]}]},
    "learners": lambda: {"MyLearner": ramify.CoarsePrior},
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT / "docs").with_suffix("").as_posix()


def run(command: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    if program in ELSEWHERE or arguments[0] == "serve":
        return
    assert program == "ramify", command
    if arguments[0] == "init":
        shutil.rmtree(arguments[1], ignore_errors=True)  # a page may show several ways to begin
    result = CliRunner().invoke(app, [*arguments, *SMALLER.get(arguments[0], [])])
    assert result.exit_code == 0, (command, result.output, result.exception)


@pytest.fixture
def server(tmp_path_factory):
    server = LocalServer(text_project(tmp_path_factory.mktemp("served") / "pets"))
    yield server.link.rstrip("/")
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page))], ids=name_of)
def test_examples_run(page, tmp_path, monkeypatch, server, plain_embedders):
    monkeypatch.chdir(tmp_path)
    STAGES.get(name_of(page), lambda: None)()
    names = NAMES.get(name_of(page), dict)()
    for language, example in blocks(page):
        example = example.replace("http://127.0.0.1:8000", server)
        if language == "sh":
            for line in filter(None, example.replace("\\\n", " ").splitlines()):
                run(line)
        elif language == "yaml":  # what the reader has written by then
            for asked in tmp_path.glob("*-concepts.yaml"):
                asked.write_text(example)
        elif language == "python":
            exec(compile(example, str(page), "exec"), names)
