"""The journal of a loop: every question asked and every answer given, on disk before anything else happens."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.taxonomy import Index


class Journal:
    """Questions and answers by round; kept in a file of one JSON line each where a path is given.

    A process may be killed while it writes: a last line that is not whole is dropped.
    """

    def __init__(self, path: Path | None) -> None:
        self.asked: dict[int, list[tuple[int, int]]] = {}
        self.answers: dict[int, dict[tuple[int, int], int]] = {}
        self._path = path
        if path is None or not path.exists():
            return
        kept = path.read_bytes()
        whole = kept[: kept.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise RamifyError(f"{path}, line {number}: this is not an answer that Ramify wrote") from None
        if len(whole) < len(kept):
            with path.open("r+b") as file:
                file.truncate(len(whole))

    def ask(self, round_: int, entries: list[tuple[int, int]]) -> None:
        """Note which questions a round asks."""
        self._write({"round": round_, "ask": entries})

    def answer(self, round_: int, entry: tuple[int, int], value: int) -> None:
        """Note one answer: 1, 0, or -1 for a skip."""
        self._write({"round": round_, "answer": [*entry, value]})

    def entries(self) -> tuple[Index, Index]:
        """Items and concepts of all questions so far."""
        pairs = [entry for asked in self.asked.values() for entry in asked]
        table = np.array(pairs, np.intp).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def given(self, last: int) -> tuple[Index, Index, Index]:
        """Items, concepts and values of all answers up to a round; skipped questions have none."""
        triples = [(*e, v) for r, answers in self.answers.items() if r <= last for e, v in answers.items() if v >= 0]
        table = np.array(triples, np.intp).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def _write(self, line: dict[str, Any]) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        round_ = int(line["round"])
        if "ask" in line:
            self.asked[round_] = [(int(item), int(concept)) for item, concept in line["ask"]]
        else:
            item, concept, value = line["answer"]
            self.answers.setdefault(round_, {})[int(item), int(concept)] = int(value)
