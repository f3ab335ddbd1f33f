"""Exports: every event, every label with its source, predictions, and questions to answer elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, WORDS, Source
from ramify.project.limits import MANY_FINE, TOP
from ramify.project.store.agreement import Opinions, agreed
from ramify.project.store.claims import Claims
from ramify.project.store.consensus import apply_answers
from ramify.project.store.merged import put_merged
from ramify.project.store.store import Item, Store
from ramify.project.transfer.features import image_folder
from ramify.project.transfer.tables import format_of, writing
from ramify.project.transfer.writers import Part, Person, Said, Writer
from ramify.taxonomy import Index, Taxonomy

__all__ = [
    "export_events",
    "export_known",
    "export_labels",
    "export_predicted",
    "export_predictions",
    "likeliest",
    "prediction_columns",
    "prediction_tables",
    "shortened",
]

ENTRIES = 1 << 18  # written at once
WORD_OF = np.array([WORDS[value] for value in (IRRELEVANT, RELEVANT, UNKNOWN)], object)  # by 0, 1 and -1
EVENT = {
    "seq": "whole",
    "at": "text",
    "annotator": "text",
    "id": "text",
    "concept": "text",
    "answer": "text",
    "undoes": "whole",
    "undone": "flag",
    "gone": "flag",
    "settles": "flag",
    "model": "whole",
    "key": "text",
    "seconds": "number",
    "flag": "text",
    "note": "text",
}
LIKELIEST = {"id": "text", "concept": "text", "probability": "number", "chosen": "flag"}
LABEL = {"id": "text", "concept": "text", "state": "text", "source": "text"}


def export_events(store: Store, path: str | Path, kind: str | None = None, *, safe: bool = False) -> tuple[int, int]:
    """Write every answer ever given, oldest first, also those taken back; returns rows written and rows in all.

    ``gone`` says that a row is about a concept that is not there any more, not about one that is called so now.
    ``safe``, here and below, is as ``tables.writing`` has it.
    """
    events = store.events()
    store.refresh()  # what these are about may just have been added
    ids, paths = store.all_ids(), store.last_paths()
    if not all(0 <= event.item < len(ids) and event.concept in paths for event in events):
        raise RamifyError(f"{store.folder}: there are answers about nothing: restore the project from a backup")
    undone, requests = {event.undoes for event in events}, store.answers.requests()
    with writing(path, EVENT, format_of(Path(path), kind, safe=safe), safe=safe) as writer:
        for first in range(0, len(events), ENTRIES):
            part = events[first : first + ENTRIES]
            block: dict[str, list[Any]] = {name: [getattr(e, name, None) for e in part] for name in EVENT}
            block["at"] = [datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds") for event in part]
            block["id"] = [str(ids[event.item]) for event in part]
            block["concept"] = [paths[event.concept] for event in part]
            block["undone"] = [event.seq in undone for event in part]
            block["gone"] = [event.concept not in store.number_of for event in part]
            for place, name in enumerate(("seconds", "flag", "note")):  # of the whole request, on each of its answers
                block[name] = [requests[event.key][place] if event.key in requests else None for event in part]
            writer.write(block)
    return writer.rows, len(events)


def export_labels(
    store: Store, path: str | Path, kind: str | None = None, *, known_only: bool = False, safe: bool = False
) -> tuple[int, int]:
    """Write a row for every item and concept: yes, no or unknown, and its source (imported, annotated or deduced).

    Returns rows written and rows in all; with ``known_only`` those that are unknown are not written.
    """
    labels, ids = store.labels(), store.all_ids()
    taxonomy = labels.taxonomy
    names = np.array([taxonomy.path(number) for number in taxonomy.preorder], object)
    words = np.array([None, *(source.name.lower() for source in list(Source)[1:])], object)
    with writing(path, LABEL, format_of(Path(path), kind, safe=safe), safe=safe) as writer:
        for items in _blocks(len(labels), len(taxonomy)):
            states, sources = (f(items, taxonomy.preorder) for f in (labels.states, labels.sources))
            keep = states != UNKNOWN if known_only else np.ones(states.shape, np.bool_)
            owners, concepts = np.nonzero(keep)
            writer.write(
                {
                    "id": ids[items[owners]].tolist(),
                    "concept": names[concepts].tolist(),
                    "state": WORD_OF[states[keep]].tolist(),
                    "source": words[sources[keep]].tolist(),
                }
            )
    return writer.rows, len(labels) * len(taxonomy)


def export_known(store: Store, path: str | Path, writer: Writer) -> tuple[int, str]:
    """Write what is known of all items in another tool's format; returns their number, and what it cannot say."""
    labels = store.labels()
    columns = labels.taxonomy.preorder
    blocks = _blocks(len(labels), len(columns))
    parts = (Part(store.items(items), labels.states(items, columns)) for items in blocks)
    said = Said(labels.taxonomy, columns, parts, images=_images(store), people=_People(store, columns))
    lost = _write(path, writer, said)
    return said.counts["items"], lost


def export_predicted(
    path: str | Path,
    writer: Writer,
    taxonomy: Taxonomy,
    shown: Callable[[Index], list[Item]],
    blocks: Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]],
    model: str,
    *,
    images: str = "",
    order: Mapping[int, int] | None = None,
) -> tuple[int, str]:
    """Write the fine concepts chosen, with their probabilities, in another tool's format; returns as ``export_known``.

    ``shown`` gives the items of some numbers, ``model`` names what predicts; ``images`` and ``order`` are as ``Said``
    has them.
    """
    parts = (Part(shown(numbers), chosen.astype(np.int8), likely) for numbers, likely, chosen in blocks)
    said = Said(taxonomy, taxonomy.leaves, parts, model, images, order=order or {})
    lost = _write(path, writer, said)
    return said.counts["items"], lost


def _write(path: str | Path, writer: Writer, said: Said) -> str:
    """Under another ending neither Ramify nor other tools would know the file again."""
    if writer.ENDING == ".json" != Path(path).suffix.lower():
        raise RamifyError(f"{path}: this format is a file that ends in .json: give it such a name")
    return writer.write(Path(path), said)


def prediction_columns(taxonomy: Taxonomy) -> dict[str, str]:
    """The columns of predictions and their kinds: the id, the fine concepts chosen, and each one's probability."""
    return {"id": "text", "labels": "names", **{taxonomy.path(leaf): "number" for leaf in taxonomy.leaves}}


def prediction_tables(
    taxonomy: Taxonomy,
    ids: Sequence[str],
    blocks: Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]],
) -> Iterator[dict[str, list[Any]]]:
    """Predictions as columns, block by block."""
    paths = [taxonomy.path(leaf) for leaf in taxonomy.leaves]
    for numbers, probabilities, chosen in blocks:
        rounded = np.round(probabilities.astype(np.float64), 4)
        block: dict[str, list[Any]] = {
            "id": [str(ids[number]) for number in numbers],
            "labels": [[paths[concept] for concept in np.flatnonzero(row)] for row in chosen],
        }
        block.update((path, rounded[:, concept].tolist()) for concept, path in enumerate(paths))
        yield block


def export_predictions(
    path: str | Path,
    kind: str | None,
    taxonomy: Taxonomy,
    ids: Sequence[str],
    blocks: Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]],
    top: int | None = None,
    *,
    safe: bool = False,
) -> int:
    """Write a row for each item: its id, the fine concepts chosen, and the probability of each fine concept.

    With ``top``, rows of items and fine concepts: the so many most probable of each item, and all that are chosen.
    """
    if top is not None:
        return _export_likeliest(path, kind, taxonomy, ids, blocks, top, safe=safe)
    with writing(path, prediction_columns(taxonomy), format_of(Path(path), kind, safe=safe), safe=safe) as writer:
        for block in prediction_tables(taxonomy, ids, blocks):
            writer.write(block)
    return writer.rows


def shortened(taxonomy: Taxonomy, top: int | None = None) -> int | None:
    """How many concepts of each item are written: as wished, else all where there is room for a column each.

    >>> shortened(Taxonomy({"animal": ["cat", "dog"]})), shortened(Taxonomy({"n": list(map(str, range(500)))}))
    (None, 10)
    """
    return TOP if top is None and len(taxonomy.leaves) >= MANY_FINE else top


def _export_likeliest(
    path: str | Path,
    kind: str | None,
    taxonomy: Taxonomy,
    ids: Sequence[str],
    blocks: Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]],
    top: int,
    *,
    safe: bool = False,
) -> int:
    paths = np.array([taxonomy.path(leaf) for leaf in taxonomy.leaves], object)
    with writing(path, LIKELIEST, format_of(Path(path), kind, safe=safe), safe=safe) as writer:
        for numbers, probabilities, chosen in blocks:
            shown = chosen.copy()
            np.put_along_axis(shown, likeliest(probabilities, top), True, axis=1)
            rows, concepts = np.nonzero(shown)
            order = np.lexsort((-probabilities[rows, concepts], rows))
            rows, concepts = rows[order], concepts[order]
            writer.write(
                {
                    "id": [str(ids[number]) for number in numbers[rows]],
                    "concept": paths[concepts].tolist(),
                    "probability": np.round(probabilities[rows, concepts].astype(np.float64), 4).tolist(),
                    "chosen": chosen[rows, concepts].tolist(),
                }
            )
    return writer.rows


def likeliest(probabilities: NDArray[np.float32], top: int) -> Index:
    """The columns of each row's so many highest values, in any order.

    >>> np.sort(likeliest(np.array([[0.1, 0.7, 0.2]], np.float32), 2)).tolist()
    [[1, 2]]
    """
    top = min(top, probabilities.shape[1])
    best: Index = np.argpartition(-probabilities, top - 1, axis=1)[:, :top]
    return best


class _People:
    """Who answered what, for formats that can say it."""

    def __init__(self, store: Store, columns: Index) -> None:
        self.store, self.columns = store, columns
        self.changed = store.changes.changed()

    @cached_property
    def read(self) -> tuple[Opinions, tuple[str, ...], Claims]:
        """The latest answer of each annotator about each entry, by item; the annotators; and what was imported."""
        ledger = self.store.consensus.ledger()
        opinions = ledger.agreement.opinions
        return opinions.some(np.argsort(opinions.items, kind="stable")), ledger.names, self.store.consensus.claims()

    def __call__(self, part: Part) -> list[Person]:
        """What each of those who answered anything about the items of a part says of them."""
        numbers = np.array([item.number for item in part.items], np.intp)
        opinions, names, claims = self.read
        contents = self.store.contents
        here = slice(*np.searchsorted(opinions.items, [numbers[0], numbers[-1] + 1]))
        opinions = opinions.some(np.arange(len(opinions.items))[here])
        last = self.store.answers.last_about(numbers[0], numbers[-1])
        concepts = contents.numbers(opinions.concepts)
        counts = np.isin(opinions.concepts, list(contents.counts_for))  # also for what they were merged into
        people = []
        for who in np.unique(opinions.annotators).tolist():
            own = np.flatnonzero((opinions.annotators == who) & counts)
            shown, places = np.unique(opinions.items[own], return_inverse=True)
            imported = claims.take(shown)
            labels, there = imported.labels.copy(), concepts[own] >= 0
            apply_answers(labels, imported.labels, places[there], concepts[own][there], opinions.values[own][there])
            if contents.merged_now:
                put_merged(contents, labels, imported, agreed(replace(opinions.some(own), items=places)))
            rows = np.searchsorted(numbers, shown)
            settles = np.bincount(places, ~opinions.settles[own], len(shown)) == 0
            ends = [last[names[who], item] for item in shown.tolist()]
            ends = [(key, max(at, self.changed)) for key, at in ends]
            people.append(Person(names[who], rows, labels.states(concepts=self.columns), settles, ends))
        return people


def _images(store: Store) -> str:
    folder = image_folder(store)
    return "" if folder is None else folder.name


def _blocks(items: int, concepts: int) -> Iterator[Index]:
    size = max(1, ENTRIES // concepts)
    for first in range(0, items, size):
        yield np.arange(first, min(first + size, items))
