"""Checkpoints of a fit: whole or not there, and refused where they are of something else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from ramify.errors import RamifyError
from ramify.files import whole_file

FILE = "checkpoint.safetensors"


def write_checkpoint(folder: Path, arrays: Mapping[str, NDArray[Any]], head: Mapping[str, Any]) -> None:
    """Write arrays and what stands beside them: learner (what it is), data (a fingerprint), rest."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / FILE) as draft:
        whole = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        save_file(whole, draft, {"head": json.dumps(head)})


def read_checkpoint(folder: Path, learner: Mapping[str, Any], data: str) -> tuple[dict[str, NDArray[Any]], Any]:
    """The arrays and the rest of a checkpoint that such a learner wrote, on such data."""
    with safe_open(folder / FILE, "np") as file:
        head = json.loads(file.metadata()["head"])
    for what, same in (
        ("another taxonomy", head["learner"]["taxonomy"] == learner["taxonomy"]),
        ("other data", head["data"] == data),
        ("other settings", head["learner"] == learner),
    ):
        if not same:
            raise RamifyError(f"{folder} holds a checkpoint of {what}: give another folder, or remove it")
    return load_file(folder / FILE), head["rest"]
