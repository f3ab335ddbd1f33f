"""Label Studio's machine learning backend: what it asks of a project, and what it tells it."""

import logging
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.label_config import Control, read_config
from ramify.project.live.service import Service
from ramify.project.live.state import Snapshot
from ramify.project.live.teaching import teaching_order
from ramify.project.store.claims import Claims
from ramify.project.store.consensus import imported_of
from ramify.project.transfer.revising import revision_of
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT, choose
from ramify.quality.thresholds import thresholds_of
from ramify.readers.label_studio_tasks import NAME, Choices, item_name, read_annotation
from ramify.taxonomy import Taxonomy

__all__ = ["LabelStudio"]

STEP = 20  # answered items after which predictions are worth retrieving again
CREATED, DELETED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"), ("ANNOTATIONS_DELETED",)
TRAINING = "START_TRAINING"
log = logging.getLogger("ramify.label_studio")


class LabelStudio:
    """Predictions for tasks and answers from annotations; tasks are items by the id in their data, or their own."""

    def __init__(self, service: Service, *, partial: bool = False) -> None:
        """With ``partial`` what is not chosen is unknown, not denied."""
        self.service, self.partial = service, partial
        self._numbers: tuple[int, dict[str, int]] = (0, {})
        self._thresholds: tuple[Any, Any] = (None, MORE_PROBABLE_THAN_NOT)
        self._learning, self._hearing = Lock(), Lock()

    def setup(self, config: str) -> str:
        """Check that a labelling config fits the project; returns what predictions are called now."""
        _fitting(config, self.service.store.taxonomy)
        return self.version()

    def version(self) -> str:
        """The model's number and how many items taught it, in steps: under each name tasks are predicted once."""
        return self._version(self.service.state.snapshot())

    def _version(self, now: Snapshot) -> str:
        answered = len(self.service.store.answered_items()) // STEP * STEP
        return f"ramify {now.model.version or 0}, {answered} items answered"

    def predict(self, tasks: Sequence[Mapping[str, Any]], config: str) -> list[list[dict[str, Any]]]:
        """What the model chooses for each task; the lower its score, the more an answer would teach.

        There is no prediction for a task that is no item of the project, or of which nothing can be said.
        """
        state = self.service.state
        state.load_model_once()
        with state.lock:
            now, claims = state.snapshot(), state.claims
        choices, version = _fitting(config, now.contents.taxonomy), self._version(now)
        numbers = [self._number(task) for task in tasks]
        items = np.array(sorted({number for number in numbers if number is not None}), np.intp)
        unknown = numbers.count(None)
        if unknown:
            log.warning("%d of %d tasks are no items of the project: add them (ramify add)", unknown, len(tasks))
        if not len(items):
            return [[] for _ in tasks]
        chosen = self._chosen(now, items, self._least(now, claims, version))
        order = teaching_order(self.service)
        rows = {number: row for row, number in enumerate(items.tolist())}
        paths, taxonomy = choices.paths(), now.contents.taxonomy
        predicted: list[list[dict[str, Any]]] = []
        for number in numbers:
            listed = [] if number is None else _finest(chosen[rows[number]], taxonomy, set(paths))
            result = choices.control.result([paths[concept] for concept in listed])
            score = round(order[number] / len(order), 4) if number in order else 1.0
            predicted.append([{"model_version": version, "score": score, "result": result}] if result else [])
        return predicted

    def hear(self, action: str, said: Mapping[str, Any]) -> str:
        """Take in what happened in Label Studio; returns a sentence on what it changed here."""
        if action == TRAINING:
            started = self.service.train()
            return "a training has begun" if started.started else str(started.reason)
        if action in DELETED:
            return self._delete(said)
        if action not in CREATED:
            return f"{action} changes nothing here"
        listed, tasks = (
            value if isinstance(value, list) else [value] for value in (said.get("annotation"), said.get("task"))
        )
        if len(listed) != len(tasks) or not all(isinstance(task, dict) for task in tasks):
            raise RamifyError(f"{action} lacks the annotation or its task: let the webhook send its payload")
        about = said.get("project")
        config = about.get("label_config") if isinstance(about, dict) else None
        if not isinstance(config, str):
            raise RamifyError(f"{action} lacks the project's label_config: let the webhook send its payload")
        contents = self.service.store.contents  # whose numbers become ids: somebody may change the taxonomy meanwhile
        choices = Choices.of(_control(config), contents.taxonomy)
        revisions, strange = [], []
        for annotation, task in zip(listed, tasks, strict=True):
            number = self._number(task)
            if number is None:
                strange.append(item_name(task))
                continue
            where = f"annotation {annotation.get('id') if isinstance(annotation, dict) else annotation!r:.20}"
            read, _ = read_annotation(annotation, task, number, choices, where)
            if not read.annotator:
                raise RamifyError(f"{where}: nothing tells who made it: completed_by is missing")
            revisions.append(revision_of(read.chosen() if self.partial else read, number, contents.id_of))
        with self._hearing:
            done = self.service.store.answers.revise(revisions)
            self.service.catch_up()
        if strange:
            raise RamifyError(
                f"the task {strange[0]!r} is no item of this project, so its annotation is not taken in: export the "
                "tasks as JSON and add them (ramify add), annotations included"
            )
        return f"{done.saved} answers saved, {done.undone} taken back"

    def _delete(self, said: Mapping[str, Any]) -> str:
        listed, project = said.get("annotations"), said.get("project")
        numbers = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        of = project.get("id") if isinstance(project, dict) else None
        if not numbers or type(of) is not int or not all(type(number) is int for number in numbers):
            raise RamifyError("a deletion names the ids of annotations and of their project: let the webhook send them")
        with self._hearing:
            done = self.service.store.answers.take_back(f"{NAME} {of}/{number} " for number in numbers)
            self.service.catch_up()
        return f"{done.undone} answers taken back"

    def _number(self, task: object) -> int | None:
        count = len(self.service.store)
        if self._numbers[0] != count:
            ids = self.service.store.all_ids().tolist()
            self._numbers = len(ids), {name: number for number, name in enumerate(ids)}
        name = item_name(task) if isinstance(task, Mapping) else None
        return None if name is None else self._numbers[1].get(name)

    def _chosen(self, now: Snapshot, items: NDArray[np.intp], least: Any) -> NDArray[np.bool_]:
        """Which concepts are labels of the items, as ``ramify predict`` chooses them."""
        taxonomy = now.contents.taxonomy
        states = now.labels.states(items, np.arange(len(taxonomy)))
        p = now.model.opinions(now.labels, items)
        foreseen = ~np.isnan(p).any(axis=1)  # else nothing says which child is likeliest
        p = np.where(states >= 0, states, np.nan_to_num(p))
        chosen = choose(p, states, taxonomy, least, fill=False)
        chosen[foreseen] = choose(p[foreseen], states[foreseen], taxonomy, least)
        return chosen

    def _least(self, now: Snapshot, claims: Claims, version: str) -> Any:
        """From which probability on each fine concept is chosen; found once for each version, as predictions are."""
        if now.model.learner is None or now.model.learner.taxonomy_ != now.contents.taxonomy:
            return MORE_PROBABLE_THAN_NOT
        with self._learning:
            key = (version, now.contents.revision)
            if self._thresholds[0] != key:
                imported = imported_of(now.contents, claims)
                with now.model.lock:
                    found = thresholds_of(now.model.learner, now.labels, imported)
                self._thresholds = key, found
            return self._thresholds[1]


def _control(config: str) -> Control:
    try:
        return read_config(config)
    except RamifyError as error:
        raise RamifyError(f"the labelling config: {error}") from None


def _fitting(config: str, taxonomy: Taxonomy) -> Choices:
    """The choices of a config in which every fine concept of a taxonomy can be said."""
    choices = Choices.of(_control(config), taxonomy)
    sayable = set(choices.concepts.values())
    missing = [taxonomy.path(leaf) for leaf in taxonomy.leaves.tolist() if leaf not in sayable]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RamifyError(
            f"the labelling config lacks {missing[0]!r}{more}, which this project asks about: use the config that "
            "`ramify export --format label-studio` writes"
        )
    return choices


def _finest(chosen: NDArray[np.bool_], taxonomy: Taxonomy, sayable: set[int]) -> list[int]:
    """The chosen concepts that can be said, without those that follow from others."""
    listed = [concept for concept in np.flatnonzero(chosen).tolist() if concept in sayable]
    above = {int(step) for concept in listed for step in taxonomy.ancestors(concept)}
    return [concept for concept in listed if concept not in above]
