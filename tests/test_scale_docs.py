"""The commands of docs/scale.md, as they stand there, but those that need a database or install something."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ramify.cli import app
from ramify.demo import scenes

ROOT = Path(__file__).resolve().parents[1]


def commands() -> list[list[str]]:
    """Up to the part on PostgreSQL, which tests of its own run."""
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8").partition("## A team's project, in PostgreSQL")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if not line.startswith("pip ")]


def write_data() -> None:
    """What the commands name."""
    Path("taxonomy.yaml").write_text("animal: [cat, dog]\nfood: [apple, pear]\n")
    words = {"cat": "purrs meows kitten", "dog": "barks wags puppy", "apple": "red crunchy", "pear": "green soft"}
    random = np.random.default_rng(0)
    with Path("items.csv").open("w", newline="") as table, Path("photos.csv").open("w", newline="") as photos:
        texts, bare = csv.writer(table), csv.writer(photos)
        texts.writerow(["id", "text", "labels"])
        bare.writerow(["id", "labels"])
        for number in range(120):
            fine = list(words)[number % 4]
            label = fine if number < 40 else ("animal" if number % 4 < 2 else "food")
            texts.writerow([f"i{number}", " ".join(random.choice(words[fine].split(), 3)), label])
            bare.writerow([f"i{number}", label])
    Path("parts").mkdir()
    for number, part in enumerate(np.split(random.normal(size=(120, 8)).astype(np.float16), [50, 100])):
        np.save(f"parts/part-{number:05}-of-00003.npy", part)
    scenes.read(80).save("my_bundle.npz")
    Path("examples").symlink_to(ROOT / "examples")


@pytest.mark.slow
def test_the_commands_of_the_page_on_scale_run_as_they_stand(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    write_data()
    ran = commands()
    assert len(ran) >= 12
    try:
        for program, *arguments in ran:
            if program == "ramify":
                result = CliRunner().invoke(app, arguments)
                assert result.exit_code == 0, (arguments, result.output, result.exception)
            else:
                assert program == "torchrun"
                done = subprocess.run([sys.executable, "-m", "torch.distributed.run", *arguments], timeout=500)
                assert done.returncode == 0, arguments
    finally:
        ray.shutdown()
    assert Path("predictions.parquet").stat().st_size
    assert len(Path("questions.csv").read_text().splitlines()) == 11
    assert Path("pseudo-label", "learner.json").is_file()
