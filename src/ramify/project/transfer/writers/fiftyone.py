"""FiftyOne's ``labels.json``: the paths of concepts as classes, and for each item those that apply."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ramify.files import whole_file
from ramify.labels import RELEVANT, UNKNOWN
from ramify.project.transfer.writers.base import Part, Said

ENDING = ".json"


def write(path: Path, said: Said) -> str:
    """Write one file; ``null`` where nothing is known of an item, and predicted labels have a ``confidence``."""
    names = said.paths()
    silent = 0
    with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write('{"classes": ' + json.dumps(names, ensure_ascii=False) + ',\n"labels": {')
        between = "\n"
        for part in said.parts():
            for row, item in enumerate(part.items):
                target = _target(part, row, names)
                silent += target is None
                file.write(
                    f"{between}{json.dumps(item.id, ensure_ascii=False)}: {json.dumps(target, ensure_ascii=False)}"
                )
                between = ",\n"
        file.write("\n}}\n")
    said.counts["unknown"] -= silent * len(names)  # null says so
    return said.unknown_is_no("FiftyOne")


def _target(part: Part, row: int, names: list[str]) -> list[Any] | None:
    states = part.states[row]
    if (states == UNKNOWN).all():
        return None
    applying = np.flatnonzero(states == RELEVANT).tolist()
    if part.confidence is None:
        return [names[column] for column in applying]
    return [
        {"label": names[column], "confidence": round(float(part.confidence[row, column]), 4)} for column in applying
    ]
