"""The commands on a project, as a user runs them: from a CSV to fine labels, and one sentence for a mistake."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ramify.cli import app
from ramify.errors import RamifyError
from ramify.project.store.store import Store
from ramify.strategies import STRATEGIES

WORDS = {
    "cat": ["purrs", "meows", "whiskers", "kitten"],
    "dog": ["barks", "fetches", "wags", "puppy"],
    "apple": ["crunchy", "red", "orchard", "cider"],
    "banana": ["yellow", "peel", "bunch", "tropical"],
}


def run(*arguments: object) -> str:
    """Run a command in this process, and return what it prints."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    with pytest.raises(RamifyError) as caught:
        run(*arguments)
    return str(caught.value)


def items(path: Path, count: int, warm: int) -> Path:
    random = np.random.default_rng(0)
    lines = ["id,text,labels,page"]
    for number in range(count):
        fine = list(WORDS)[number % 4]
        coarse, other = ("animal", {"cat": "dog", "dog": "cat"}) if number % 4 < 2 else ("food", None)
        other = other or {"apple": "banana", "banana": "apple"}
        text = " ".join(random.choice(WORDS[fine], 5))
        lines.append(f"i{number},{text},{f'{fine};-{other[fine]}' if number < warm else coarse},{number + 7}")
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taxonomy.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    items(Path("items.csv"), 60, 28)
    return tmp_path


def fill(path, answer):
    """Fill the empty column of a table of questions."""
    asked = rows(path)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, asked[0])
        writer.writeheader()
        writer.writerows({**row, "answer": answer(row)} for row in asked)
    return asked


def test_from_a_csv_to_fine_labels(here):
    """The whole way that the README shows."""
    assert "Next: ramify add pets items.csv" in run("init", "pets", "--taxonomy", "taxonomy.yaml")
    assert run("add", "pets", "items.csv") == (
        "Ignored: 'page' (neither id, text, picture nor a concept).\n"
        "Added 60 items: the project has 60, with features by text.\n"
    )
    assert "Added 0 items, 60 were there already" in run("add", "pets", "items.csv")
    shown = [" ".join(line.split()) for line in run("status", "pets").splitlines()]
    assert {"items 60", "answers 0", "model none yet", "animal 30 30 0", "cat 7 37 16"} <= set(shown)

    # A few steps are enough for texts as plain as these.
    assert run("train", "pets", "--set", "steps=150") == (
        "Names: left out, text knows no word of any concept: describe them in the taxonomy.\n"
        "The project's model is now number 1.\n"
    )
    assert "number 1, refine" in run("status", "pets")
    assert "which of these?" in run("suggest", "pets", "-n", 3)
    assert "concept?" in run("suggest", "pets", "-n", 3, "--single")
    assert "Wrote 4 questions to ask.csv" in run("suggest", "pets", "-n", 4, "--out", "ask.csv")

    truth = {f"i{number}": list(WORDS)[number % 4] for number in range(60)}
    asked = fill(Path("ask.csv"), lambda row: truth[row["id"]])
    assert {row["choices"] for row in asked} <= {"cat;dog", "apple;banana"}
    assert len(asked) == 4
    assert "Saved 8 answers." in run("answer", "pets", "ask.csv")
    assert "Saved 0 answers, 8 were there already." in run("answer", "pets", "ask.csv")

    assert run("predict", "pets", "--out", "fine.csv") == (
        "Wrote 60 rows of 60 items to fine.csv.\n60 labels, 28 of them predicted; 0 items have none.\n"
    )
    found = {row["id"]: row for row in rows(Path("fine.csv"))}
    fine = ["animal > cat", "animal > dog", "food > apple", "food > banana"]
    best = {name: max(fine, key=lambda path: float(row[path])) for name, row in found.items()}
    assert np.mean([best[name].endswith(truth[name]) for name in truth]) > 0.9
    Path("new.csv").write_text("id,text\nn1,kitten purrs whiskers\nn2,yellow peel bunch\n")
    assert run("predict", "pets", "new.csv", "--out", "new.jsonl").startswith("Wrote 2 rows of 2 items to new.jsonl.\n")
    first, second = (json.loads(line) for line in Path("new.jsonl").read_text().splitlines())
    assert first["animal > cat"] > max(first["animal > dog"], first["food > banana"])
    assert second["food > banana"] > max(second["food > apple"], second["animal > cat"])

    assert "Wrote 3 questions to single.csv" in run("suggest", "pets", "-n", 3, "--single", "--out", "single.csv")
    fill(Path("single.csv"), lambda row: "yes" if row["concept"].endswith(truth[row["id"]]) else "no")
    assert "Saved 3 answers." in run("answer", "pets", "single.csv")

    assert run("export", "pets", "--format", "csv") == "Wrote 360 of 360 rows to pets-labels.csv.\n"
    assert run("export", "pets", "--events", "--out", "e.parquet") == "Wrote 11 of 11 rows to e.parquet.\n"
    assert re.match(r"Wrote \d+ of 360 rows", run("export", "pets", "--known"))
    assert "└── dog\n    ├── poodle\n    └── beagle" in run("taxonomy", "split", "pets", "dog", "poodle", "beagle")

    run("backup", "pets", "pets.zip")
    assert run("restore", "pets.zip", "again") == "again is there again, with 60 items.\n"
    with Store("pets") as one, Store("again") as other:
        assert one.labels() == other.labels()
        assert one.events() == other.events()


def test_mistakes_are_one_sentence(here):
    assert refused("add", "nowhere", "items.csv").startswith("nowhere is not a project of Ramify")
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    assert refused("init", "pets", "--taxonomy", "taxonomy.yaml") == "pets is a project already: give a new folder"
    assert refused("add", "pets", "none.csv") == "none.csv: there is no such file"
    assert refused("predict", "pets", "--threshold", 0.5, "--precision", 0.9) == (
        "give either a threshold, a precision or a recall, not several"
    )
    assert refused("predict", "pets", "--threshold", 2) == "the threshold is a probability from 0 to 1, not 2"
    assert refused("predict", "pets", "--out", "x.txt").startswith("the format 'txt' is none of")
    run("add", "pets", "items.csv")
    assert refused("predict", "pets", "--out", "x.csv").startswith("pets has no model yet")
    assert not Path("x.csv").exists()
    Path("bad.csv").write_text("id,text,labels\nz,new,animal\ny,new,plant\n")
    assert refused("add", "pets", "bad.csv").startswith("bad.csv, row 3, column 'labels': there is no concept 'plant'")
    with Store("pets") as store:
        assert len(store) == 60
    Path("answers.csv").write_text("id,concept,answer\ni0,cat,yes\ni0,cat,maybe\n")
    assert refused("answer", "pets", "answers.csv").startswith("answers.csv, row 3, column 'answer'")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("banana", "'food > banana' is none of the choices: name some of 'cat;dog', or write none or skip"),
        ("cta", "there is no concept 'cta'"),
    ],
)
def test_a_choice_that_was_not_offered_is_refused(here, answer, sentence):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    Path("ask.csv").write_text(f"id,choices,answer\ni40,cat;dog,{answer}\n")
    assert refused("answer", "pets", "ask.csv").startswith(f"ask.csv, row 2, column 'answer': {sentence}")
    with Store("pets") as store:
        assert store.count_answers() == 0


def test_choices_may_be_none_skipped_or_left_open(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    Path("ask.csv").write_text(
        "id,choices,answer\ni40,cat;dog,none\ni41,cat;dog,skip\ni44,cat;dog,\ni45,cat;dog,cat;dog\n"
    )
    assert run("answer", "pets", "ask.csv") == "Saved 6 answers, 2 questions have none yet.\n"
    with Store("pets") as store:
        items = [store.all_ids().tolist().index(name) for name in ("i40", "i41", "i44", "i45")]
        assert store.labels().states(items, ["cat", "dog"]).tolist() == [[0, 0], [-1, -1], [-1, -1], [1, 1]]


@pytest.mark.parametrize("strategy", [*STRATEGIES, "nonsense"])
def test_every_strategy_suggests(here, strategy):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    run("train", "pets", "--set", "steps=5", "--set", "hidden=[8, 8]")
    if strategy == "nonsense":
        assert refused("suggest", "pets", "--strategy", strategy).startswith("there is no strategy 'nonsense'")
        return
    run("suggest", "pets", "-n", 500, "--strategy", strategy, "--out", "all.csv")
    with Store("pets") as store:
        unknown = store.labels().unknown()[0]
    assert len(rows(Path("all.csv"))) == len(set(unknown.tolist()))  # everything that is open, in groups


def test_items_that_the_model_has_not_seen_are_asked_about_or_told(here):
    """The second table was left out without a word once, and all seemed done."""
    items(Path("few.csv"), 4, 0)
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "few.csv")
    run("train", "pets", "--set", "steps=5", "--set", "hidden=[8, 8]")
    items(Path("more.csv"), 60, 28)
    lines = Path("more.csv").read_text().splitlines()
    Path("more.csv").write_text("\n".join([lines[0], *lines[5:]]) + "\n")
    run("add", "pets", "more.csv")
    due = "56 items were added since, about which it asks nothing: train a new model"
    assert f"due: {due}" in " ".join(run("status", "pets").split())
    said = run("suggest", "pets", "-n", 20, "--out", "all.csv")  # of all items, at random: it knows less than half
    assert said.startswith(f"Training is due: {due} (ramify train pets).\nWrote 20 questions to all.csv")
    run("train", "pets", "--set", "steps=5", "--set", "hidden=[8, 8]")
    assert "due" not in run("suggest", "pets", "-n", 3, "--annotator", "bob")


def test_labels_that_a_table_changes_are_told(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    Path("items.csv").write_text(Path("items.csv").read_text().replace(",animal,", ",food,", 2))
    assert run("add", "pets", "items.csv").endswith(
        "Added 0 items, 60 were there already (2 with other labels): the project has 60, with features by text.\n"
    )


def test_an_empty_project_has_nothing_to_ask(here):
    """Both ended in a division by zero once."""
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    assert "There is nothing to ask" in run("suggest", "pets")
    assert "items" in run("status", "pets")


def test_how_a_table_is_read_can_be_said(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    Path("odd.csv").write_text("key,body,tags,flag\na,one two,cat/dog,1\nb,two three,apple,0\n")
    options = [
        "--id",
        "key",
        "--text",
        "body",
        "--labels",
        "tags",
        "--ignore",
        "flag",
        "--separator",
        "/",
        "--partial",
        "--complete",
    ]
    assert "Added 2 items" in run("add", "pets", "odd.csv", *options)
    with Store("pets") as store:
        assert store.labels().states().tolist() == [[1, 1, -1, -1], [-1, -1, 1, 0]]


def test_an_interrupted_command_says_what_stays(here, monkeypatch):
    from ramify.embed.text import TextEmbedder

    run("init", "pets", "--taxonomy", "taxonomy.yaml")

    def interrupted(self, values):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(TextEmbedder, "rows", interrupted)
        result = CliRunner().invoke(app, ["add", "pets", "items.csv"])
    assert result.exit_code == 130
    assert (
        "Interrupted: pets is as it was, and what is embedded is kept. Run the same command to go on." in result.output
    )
    assert "Added 60 items" in run("add", "pets", "items.csv")


def test_redirected_training_says_how_far_it_is(here, monkeypatch):
    from ramify import progress

    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    monkeypatch.setattr(progress, "PLAIN_FIRST", 0.0)
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    result = CliRunner().invoke(app, ["train", "pets", "--set", "steps=3"])
    lines = result.stderr.splitlines()
    assert lines[0] == "coarse stage: 1 of 9"
    assert re.fullmatch(r"coarse stage: 8 of 9, about \d+ s left", lines[7])
    assert lines[8:] == ["fine stage: 0 of 1", "all items: 0 of 60"]
    assert result.stdout == (
        "Names: left out, text knows no word of any concept: describe them in the taxonomy.\n"
        "The project's model is now number 1.\n"
    )


def test_an_interrupted_training_leaves_the_model_as_it_was(here, monkeypatch):
    from ramify.learners import coarse_stage

    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    run("train", "pets", "--set", "steps=3")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(coarse_stage, "_train", interrupted)
    result = CliRunner().invoke(app, ["train", "pets"])
    assert result.exit_code == 130
    assert result.output == "Interrupted: pets is as it was. Run the same command to go on.\n"
    assert "number 1, refine" in run("status", "pets")


def test_a_killed_add_leaves_nothing_half_imported(here):
    """SIGKILL at any moment: no item is there, or all are; the next run ends as if nothing had happened."""
    items(Path("many.csv"), 3000, 100)
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    command = [sys.executable, "-c", "from ramify.cli import main; main()", "add", "pets", "many.csv"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for delay in (1.5, 2.5, 3.5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with Store("pets") as store:
            assert len(store) in (0, 3000)
    run("add", "pets", "many.csv")
    with Store("pets") as store:
        assert len(store) == len(store.features()) == len(store.labels()) == 3000


def test_serve_answers_requests_and_ends_quietly(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    command = [sys.executable, "-c", "from ramify.cli import main; main()", "serve", "pets", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        shown = ""
        while "http://" not in shown:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            shown += line
        link = re.search(r"http://\S+", shown).group()
        with urllib.request.urlopen(f"{link.rstrip('/')}/api/status", timeout=300) as answer:
            assert json.load(answer)["items"] == 60
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors


def test_status_loads_nothing_that_models_are_made_of(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    show = "from ramify.cli import app; app(['status', 'pets'], standalone_mode=False)"
    code = f"import sys; {show}; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("nets=1e99", "the parameter nets cannot be 1e+99: its default is 3"),
        ("steps=abc", "the parameter steps cannot be 'abc': its default is 2000"),
        ("steps=-1", "the parameter steps cannot be -1: its default is 2000"),
        ("hidden=0", "the parameter hidden cannot be 0: its default is (512,)"),
        ("lr=NaN", "the parameter lr cannot be nan: its default is 0.001"),
        (
            "dropout=7",
            "refine cannot be trained with dropout=7 (dropout probability has to be between 0 and 1, but got 7)",
        ),
        ("dorpout=0.5", "refine has no parameter 'dorpout': it has"),
        ("steps", "--set takes NAME=VALUE, such as steps=500, not 'steps'"),
    ],
)
def test_a_wrong_setting_is_refused_and_not_kept(here, setting, sentence):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    assert refused("train", "pets", "--set", setting).startswith(sentence)
    with Store("pets") as store:
        assert store.setting("parameters", {}) == {}


def test_settings_add_up_until_a_learner_is_named(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    run("train", "pets", "--set", "steps=5", "--set", "hidden=[8, 8]")
    run("train", "pets", "--set", "dropout=0.1")
    with Store("pets") as store:
        assert store.setting("parameters") == {"steps": 5, "hidden": [8, 8], "dropout": 0.1}
    run("train", "pets", "--learner", "coarse-prior", "--set", "steps=3")
    with Store("pets") as store:
        assert (store.setting("learner"), store.setting("parameters")) == ("coarse-prior", {"steps": 3})


@pytest.mark.parametrize("name", ["os:path", "json:JSONDecoder"])
def test_what_is_no_learner_or_strategy_is_refused(here, name):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    assert refused("train", "pets", "--learner", name) == f"{name!r} is no learner: name a subclass of Learner"
    assert refused("suggest", "pets", "--strategy", name) == f"{name!r} is no strategy: name a subclass of Strategy"


def test_answers_in_a_table_can_be_changed_and_changed_back(here):
    """The third file was taken for a repetition of the first, and the label stayed as the second had it."""
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    for name, answer in (("yes.csv", "yes"), ("no.csv", "no")):
        Path(name).write_text(f"id,concept,answer\ni40,cat,{answer}\n")
    for name, saved in (("yes.csv", 1), ("yes.csv", 0), ("no.csv", 1), ("yes.csv", 1), ("yes.csv", 0), ("no.csv", 1)):
        assert f"Saved {saved} answers" in run("answer", "pets", name)
        with Store("pets") as store:
            item = store.all_ids().tolist().index("i40")
            assert store.labels().states(item, "cat")[0, 0] == (1 if name == "yes.csv" else 0)


def test_who_is_said_to_have_answered_has(here):
    """The column that suggest writes won silently."""
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    run("suggest", "pets", "-n", 2, "--out", "ask.csv")
    assert "already (" in run("suggest", "pets", "-n", 2)  # and it says that these are still out
    fill(Path("ask.csv"), lambda row: "none")
    run("answer", "pets", "ask.csv", "--annotator", "Ada")
    with Store("pets") as store:
        assert {event.annotator for event in store.events()} == {"Ada"}


def test_a_no_to_what_nobody_claimed_is_no_wrong_label(here):
    """After a split, every former no was listed as a coarse label that somebody called wrong."""
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    Path("no.csv").write_text("id,concept,answer\ni40,dog,no\ni41,animal,no\n")
    run("answer", "pets", "no.csv")
    run("taxonomy", "split", "pets", "dog", "poodle", "beagle")
    with Store("pets") as store:
        wrong = [(item, store.taxonomy.path(store.number_of[concept])) for item, concept, _ in store.refused_coarse()]
        assert wrong == [(store.all_ids().tolist().index("i41"), "animal")]


def test_predict_does_not_write_over_what_it_reads(here):
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    Path("new.csv").write_text("id,text\nn1,kitten\n")
    assert refused("predict", "pets", "new.csv", "--out", "./new.csv").startswith("new.csv is the table that is read")
    assert Path("new.csv").read_text() == "id,text\nn1,kitten\n"
