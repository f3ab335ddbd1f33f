"""COCO's instances: a category for each concept below its supercategory, an annotation for each that applies."""

import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ramify.concepts import ARROW
from ramify.files import whole_file
from ramify.labels import RELEVANT, UNKNOWN
from ramify.project.transfer.writers.base import Said, as_number, write_list

ENDING = ".json"


def write(path: Path, said: Said) -> str:
    """Write one file; annotations name the finest concepts that apply, and predicted ones have a ``score``."""
    images, columns, scores = array("q"), array("q"), array("d")
    ids: list[int | str] = []
    unseen = 0

    def entries() -> Iterator[dict[str, Any]]:
        nonlocal unseen
        for part in said.parts():
            said.counts["unknown"] -= int((part.states[~(part.states == RELEVANT).any(axis=1)] == UNKNOWN).sum())
            rows, places = np.nonzero(said.finest(part.states))
            images.extend((rows + len(ids)).tolist())
            columns.extend(places.tolist())
            if part.confidence is not None:
                scores.extend(np.round(part.confidence[rows, places].astype(np.float64), 4).tolist())
            unseen += sum(item.picture is None for item in part.items)
            for item in part.items:
                ids.append(as_number(item.id))
                yield {"id": ids[-1], **({} if item.picture is None else {"file_name": item.picture})}

    with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write('{"images": ')
        write_list(file, entries())
        file.write(',\n"annotations": ')
        write_list(
            file,
            (
                {"id": number + 1, "image_id": ids[image], "category_id": column + 1}
                | ({"score": scores[number]} if scores else {})
                for number, (image, column) in enumerate(zip(images, columns, strict=True))
            ),
        )
        file.write(',\n"categories": ' + json.dumps(_categories(said, set(columns)), ensure_ascii=False) + "}\n")
    silent = said.counts["silent"]
    without = f"{silent} items without anything that applies say nothing in COCO." if silent else ""
    blind = f"{unseen} items have no picture, so COCO has no file_name for them." if unseen else ""
    return " ".join(filter(None, (said.unknown_is_no("COCO"), without, blind)))


def _categories(said: Said, used: set[int]) -> list[dict[str, Any]]:
    """Fine concepts, and those above that may stand alone: because their children are not all, or since they do."""
    taxonomy = said.taxonomy
    listed = []
    for column, concept in enumerate(said.concepts.tolist()):
        if len(taxonomy.children(concept)) and taxonomy.exhaustive[concept] and column not in used:
            continue
        above = ARROW.join(taxonomy.names[number] for number in taxonomy.ancestors(concept))
        listed.append(
            {"id": column + 1, "name": taxonomy.names[concept], **({"supercategory": above} if above else {})}
        )
    return listed
