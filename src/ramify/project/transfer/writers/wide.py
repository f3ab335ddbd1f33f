"""A table with a row for each item and a column for each concept: yes, no, or unknown."""

from pathlib import Path
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, WORDS
from ramify.project.transfer.tables import format_of, writing
from ramify.project.transfer.writers.base import Said

ENDING = ".csv"
WORD_OF = np.array([WORDS[value] for value in (IRRELEVANT, RELEVANT, UNKNOWN)], object)  # by 0, 1 and -1


def write(path: Path, said: Said) -> str:
    """Write a .csv, .jsonl or .parquet file, by the ending of its name; it says everything."""
    paths = said.paths()
    if "id" in paths:
        raise RamifyError("the concept 'id' is called like the column of ids: write another format")
    with writing(path, dict.fromkeys(["id", *paths], "text"), format_of(path, None)) as writer:
        for part in said.parts():
            block: dict[str, Any] = {"id": [item.id for item in part.items]}
            words = WORD_OF[part.states]
            block.update((name, words[:, place].tolist()) for place, name in enumerate(paths))
            writer.write(block)
    return ""
