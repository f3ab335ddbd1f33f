"""The page's modules by themselves: what ``node --test`` says of them, and that they share the server's words."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ramify.labels import words
from ramify.project import limits

TESTS = Path(__file__).resolve().with_name("page")
STATIC = TESTS.parents[1] / "src/ramify/web/static"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None and not os.environ.get("CI"),
    reason="there is no node to test the page's modules with: apt-get install nodejs",
)


def node(*arguments: object) -> str:
    """What node prints; where it is missing or fails, so does the test."""
    assert NODE is not None, "there is no node to test the page's modules with: apt-get install nodejs"
    ended = subprocess.run([NODE, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("file", sorted(TESTS.glob("*.test.js")), ids=lambda file: file.name.partition(".")[0])
def test_module(file):
    node("--test", file)


def test_words_and_limits_are_the_same_on_both_sides():
    script = "import(process.argv[1]).then((words) => console.log(JSON.stringify(words)))"
    page = json.loads(node("--eval", script, STATIC / "words.js"))
    assert page["STATES"] == list(words.STATES)
    assert page["ANSWERS"] == list(words.ANSWERS)
    assert page["MODES"] == list(limits.MODES)
    assert page["LONGEST_NAME"] == limits.LONGEST_NAME
    assert page["LONGEST_PAGE"] == limits.LONGEST_PAGE
    assert page["LONGEST_GUIDELINES"] == limits.LONGEST_GUIDELINES
    assert page["LARGEST_UPLOAD"] == limits.LARGEST_UPLOAD
