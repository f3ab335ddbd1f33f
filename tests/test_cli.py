"""The command line as a user runs it: what it prints, and one sentence for a mistake."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ramify.cli import app, main
from ramify.data import Dataset
from ramify.labels import Labels
from ramify.taxonomy import Taxonomy
from test_data import bundle

# Processes find the learners of one's own that lie beside the tests.
PATHS = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}


def command(*arguments: object) -> list[str]:
    """The installed command, for a process of its own."""
    return [sys.executable, "-c", "from ramify.cli import main; main()", *map(str, arguments)]


def ramify(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as it is installed, with how it tells mistakes, in this process."""
    out, errors, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["ramify", *map(str, arguments)])
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code or 0
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())


def run_in_process(*arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_inspect_shows_what_a_person_wants_to_see_first(tmp_path):
    result = ramify("inspect", bundle(tmp_path / "b.npz"))
    assert result.returncode == 0, result.stderr
    shown = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "items 4 (3 train, 1 test)",
        "features 3 columns, dense float64",
        "concepts 2 coarse, 3 fine (exhaustive)",
        "entries 12 (4 items x 3 fine concepts)",
        "open 7, whose parent is not known irrelevant",
        "known 12: 0 annotated, 10 imported, 2 deduced",
        "unknown 0",
        "contradictions none",
        "animal 3 1 0",
        "├── cat 2 2 0",
        "└── apple 1 3 0",
    ):
        assert line in shown


def test_inspect_lists_contradictions_and_unknowns(tmp_path):
    labels = Labels(Taxonomy({"animal": {"dog": ["poodle"], "cat": None}}), [[0], [1]])
    labels.record(0, "poodle", 1, "annotated")
    Dataset(labels).save(tmp_path / "d")
    result = ramify("inspect", tmp_path / "d")
    assert result.returncode == 0, result.stderr
    assert "1: their entries stay unknown" in result.stdout
    assert "item 0: 'animal > dog > poodle' is relevant (annotated) against 'animal' is irrelevant" in result.stdout
    assert "1 coarse, 1 between, 2 fine" in result.stdout


def test_inspect_draws_scenes_and_prints_a_taxonomy(tmp_path):
    result = ramify("inspect", "scenes:30")
    assert result.returncode == 0, result.stderr
    assert "5 coarse, 20 fine (exhaustive)" in result.stdout
    (tmp_path / "t.yaml").write_text("animal: [cat, dog]\n")
    assert ramify("inspect", tmp_path / "t.yaml").stdout == "animal\n├── cat\n└── dog\n"
    Taxonomy.load(tmp_path / "t.yaml").save(tmp_path / "t.xml")  # a labelling config
    assert ramify("inspect", tmp_path / "t.xml").stdout == "animal\n├── cat\n└── dog\n"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("none.npz", "{path}: there is no such file"),
        ("none", "{path} does not exist: give an .npz bundle or a folder that Ramify saved"),
        ("list.yaml", "{path}: a taxonomy is a mapping of concept names to finer concepts, not a list"),
        ("nan.npz", "{path}: the features of row 0, column 0 are nan: replace what is not a finite number"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, argument, message):
    (tmp_path / "list.yaml").write_text("- cat\n")
    bundle(tmp_path / "nan.npz", X=np.full((4, 2), np.nan))
    result = ramify("inspect", tmp_path / argument)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == f"ramify: {message.format(path=tmp_path / argument)}\n"


def test_a_wrong_number_of_scenes_is_one_sentence():
    assert ramify("inspect", "scenes:many").stderr == (
        "ramify: scenes:many: after scenes: comes the number of items, for example scenes:500\n"
    )


def test_every_bundle_of_real_data_is_shown(real_bundle):
    names = ("mirflickr_tags", "coco_captions", "goemotions", "coco_labels_only", "mirflickr_labels_only")
    for path in [real_bundle(name) for name in names]:
        for options in ([], ["--not-exhaustive"]) if "mirflickr" in path.name else ([],):
            result = ramify("inspect", path, *options)
            assert result.returncode == 0, result.stderr
            assert ("(exhaustive)" in result.stdout) == (not options)


def test_every_command_is_documented():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert "ramify taxonomy split" in text  # which `ramify split` is now
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert name == "split" or f"ramify {name}" in text, f"the README does not show 'ramify {name}'"
        assert command.callback.__doc__


def test_importing_ramify_is_light():
    heavy = "torch", "matplotlib", "sklearn", "numpy", "pandas"
    code = f"import sys, ramify; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
    code = f"import sys, ramify.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_all_public_names_exist():
    import ramify

    for name in ramify.__all__:
        assert getattr(ramify, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ramify.nonsense
