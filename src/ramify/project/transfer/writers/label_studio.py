"""Label Studio's tasks: what applies to each item as annotations, or predicted; the labelling config beside them."""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.label_config import Control, config_of, is_own, said_as
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.project.store.store import Item
from ramify.project.transfer.writers.base import Part, Said, as_number, write_list
from ramify.readers.annotations import IN_PART, NOBODY, Mark
from ramify.readers.label_studio_tasks import content_of

ENDING = ".json"
ADDRESS, USER = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), re.compile(r"label-studio (\d{1,15})")
Results: TypeAlias = list[dict[str, Any]]


def write(path: Path, said: Said) -> str:
    """Write the tasks, and beside them, ending in ``.xml``, the config with their concepts.

    What each person answered, with what was imported, is an annotation of theirs. Predicted tasks stand in the order
    in which answers would teach most, where it is known; then their score is the place in it, from 0 to 1.
    """
    seen: set[str] = set()
    named: set[str] = set()
    config = path.with_suffix(".xml")
    if config.exists() and not is_own(config.read_bytes()):
        raise RamifyError(f"{config} is a labelling config that Ramify did not write: give another --out, to keep it")
    with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
        tasks = (task for part in said.parts() for task in _tasks(part, said, seen, named))
        write_list(file, _in_order(tasks, said.order))
        file.write("\n")
        shown = [key for key in ("image", "text") if key in seen] or ["text"]
        with whole_file(config) as beside:  # first, so that tasks never lack it
            beside.write_text(config_of(said.taxonomy.to_dict(), *shown), encoding="utf-8")
    unknown, no = said.counts["unknown"], said.counts["no"]
    lost = f"{unknown} entries are unknown and {no} are no: Label Studio records only what applies."
    strangers = (
        f"{len(named)} people have no e-mail address as their name: annotations will be theirs who imports them."
    )
    together = said.counts["together"]
    apart = f"What {together} items are follows from what several people say together: no annotation says it."
    parts = (f"The labelling config is {config}.", lost if unknown else "", strangers if named else "")
    return " ".join(filter(None, (*parts, apart if together else "")))


def _in_order(tasks: Iterable[tuple[int, dict[str, Any]]], order: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    """Tasks, those that have a place first; the others wait on the disk."""
    if not order:
        yield from map(itemgetter(1), tasks)
        return
    first: list[tuple[int, dict[str, Any]]] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as others:
        for number, task in tasks:
            if number in order:
                first.append((order[number], task))
            else:
                others.write(json.dumps(task) + "\n")
        yield from map(itemgetter(1), sorted(first, key=itemgetter(0)))
        others.seek(0)
        yield from map(json.loads, others)


def _tasks(part: Part, said: Said, seen: set[str], named: set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    names = [said_as(concept.name, concept.aliases) for concept in said.taxonomy.concepts]
    steps = [tuple(names[n] for n in (*said.taxonomy.ancestors(c), c)) for c in said.concepts.tolist()]
    finest = said.finest(part.states)
    roots = np.flatnonzero(np.isin(said.concepts, said.taxonomy.roots))
    column = {concept: place for place, concept in enumerate(said.concepts.tolist())}
    above = np.array([column.get(said.taxonomy.parent(concept), -1) for concept in column], np.intp)
    people = _annotations(part, said, steps, named) if part.confidence is None else {}
    for row, item in enumerate(part.items):
        data = _data(item, said.images)
        seen.update(data.keys() - {"id"})
        task: dict[str, Any] = {"data": data}
        if part.confidence is not None:
            result = _results(item, finest[row], steps)
            score = _score(item.number, part.confidence[row, finest[row]], said.order)
            task["predictions"] = [{"model_version": said.model, "score": score, "result": result}]
        elif people.get(row):
            task["annotations"] = people[row]
        elif _says(part.states[row], roots):
            if row in people:  # an annotation of nobody would make labels of their answers
                said.counts["together"] += 1
            else:
                key = NOBODY if _is_seen(part.states[row], above) else IN_PART
                task["annotations"] = [_annotation(item, finest[row], steps, key)]
        yield item.number, task


def _annotations(part: Part, said: Said, steps: list[tuple[str, ...]], named: set[str]) -> dict[int, list[Any]]:
    """The annotations of people, by row, as far as they can be said: none of a row where nothing of it can."""
    roots = np.flatnonzero(np.isin(said.concepts, said.taxonomy.roots))
    found: dict[int, list[Any]] = {}
    for person in said.people(part):
        user = USER.fullmatch(person.name)
        by: dict[str, Any] = {"completed_by": int(user[1])} if user else {"created_username": person.name}
        by = {"completed_by": {"email": person.name}} if ADDRESS.fullmatch(person.name) else by
        finest = said.finest(person.states)
        for place, row in enumerate(person.rows.tolist()):
            listed = found.setdefault(row, [])
            if _says(person.states[place], roots):
                named.update([person.name] if "created_username" in by else [])
                key, at = person.last[place]
                settles = bool(person.settles[place])
                one = _annotation(part.items[row], finest[place], steps, key, settles=settles)
                changed = {"updated_at": datetime.fromtimestamp(at, UTC).isoformat()}
                listed.append({**one, **by, **changed})
    return found


def _annotation(
    item: Item, finest: NDArray[np.bool_], steps: list[tuple[str, ...]], key: str, *, settles: bool = False
) -> dict[str, Any]:
    """With a mark as its id; where ``ground_truth`` is left out, Label Studio takes it for true."""
    chosen = [steps[column] for column in np.flatnonzero(finest)]
    mark = Mark.of(content_of(item.id, settles, chosen), key)
    return {"id": mark.number, "ground_truth": settles, "result": _results(item, finest, steps)}


def _says(states: NDArray[np.int8], roots: NDArray[np.intp]) -> bool:
    """Whether an annotation can say it: something applies, or for sure nothing does."""
    return bool((states == RELEVANT).any() or (states[roots] == IRRELEVANT).all())


def _is_seen(states: NDArray[np.int8], above: NDArray[np.intp]) -> bool:
    """Whether all that is offered beside what applies is known; ``above`` is the column of each one's parent, or -1."""
    offered = (above < 0) | (states[above] == RELEVANT)
    return not (offered & (states == UNKNOWN)).any()


def _results(item: Item, finest: NDArray[np.bool_], steps: list[tuple[str, ...]]) -> Results:
    about = "text" if item.picture is None else "image"
    return Control("concepts", about, "taxonomy", []).result([steps[column] for column in np.flatnonzero(finest)])


def _data(item: Item, images: str) -> dict[str, Any]:
    """What people see of an item; a picture as Label Studio's local storage serves it."""
    data: dict[str, Any] = {"id": as_number(item.id)}
    if item.picture is not None:
        place = f"{images}/{item.picture}" if images else item.picture
        data["image"] = f"/data/local-files/?d={quote(place)}"
    if item.text is not None or item.picture is None:
        data["text"] = item.text or item.id
    return data


def _score(number: int, likely: NDArray[np.float32], order: Mapping[int, int]) -> float:
    if order:
        return round(order[number] / len(order), 4) if number in order else 1.0
    return round(float(likely.min(initial=1)), 4) if len(likely) else 0.0
