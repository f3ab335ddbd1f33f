"""What a fuzzer found once stays found: each file of its corpus, and whole files that are cut and changed."""

import random

import pytest

from fuzzing import CORPUS, READ, prepare, seeds, try_one


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("fuzz")
    prepare(made)
    return made


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
def test_what_went_wrong_once_is_read_or_refused(path, folder):
    try_one(path.name.rpartition("-")[0], path.read_bytes(), folder)


@pytest.mark.parametrize("kind", READ)
def test_whole_files_are_read_and_damaged_ones_read_or_refused(kind, folder):
    drawn = random.Random(kind)
    for content in seeds()[kind]:
        try_one(kind, content, folder)
        for _ in range(20):
            changed = bytearray(content)
            for _ in range(drawn.randint(1, 4)):
                changed[drawn.randrange(len(changed))] = drawn.randrange(256)
            try_one(kind, bytes(changed[: drawn.randint(1, len(changed))]), folder)
            try_one(kind, bytes(changed), folder)
