"""Suggestions: the page's questions as rows of a table, to be answered elsewhere."""

from typing import Any

from ramify.project.live.service import Service
from ramify.project.live.shapes import Screen
from ramify.project.transfer.choices import ANSWER_COLUMNS, CHOICE_COLUMNS, SEPARATOR, shortest_name


def suggest(service: Service, annotator: str, count: int, *, single: bool = False) -> dict[str, list[Any]]:
    """The next questions as columns: a row for each item with the concepts to choose from, or for each entry.

    The column ``answer`` is empty; ``answer_from_table`` takes the filled table in.
    """
    if single:
        screens = service.next(annotator, mode="single", count=count)
        rows = [(s.item.id, entry.path, None, annotator, s.model, _content(s)) for s in screens for entry in s.entries]
        return _columns(ANSWER_COLUMNS, rows)
    screens = service.next(annotator, mode="group", count=count)
    taxonomy, number_of = service.store.taxonomy, service.store.number_of
    names = [
        SEPARATOR.join(shortest_name(taxonomy, number_of[entry.concept]) for entry in screen.entries)
        for screen in screens
    ]
    groups = [
        (screen.item.id, " > ".join(screen.path), choices, None, annotator, screen.model, _content(screen))
        for screen, choices in zip(screens, names, strict=True)
    ]
    return _columns(CHOICE_COLUMNS, groups)


def _content(screen: Screen) -> str:
    return screen.item.text or screen.item.id


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: list(column) for name, column in zip(names, values, strict=True)}
