"""Occlusion: which words of a text speak for a concept, by what the model would say without each of them.

It asks the embedder and the model, so it holds for any of them: the text is embedded again without each different word,
wherever this stands, and the model is asked about each of these texts as about the whole one.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from ramify.embed import Embedder, Floats
from ramify.project.live import shapes
from ramify.project.live.state import Snapshot, State
from ramify.project.store.items import Contents, Item
from ramify.project.transfer.features import GIVEN, used_embedder

MOST = 200  # different words that are tried, the first ones of a text
KEPT = 64  # texts whose features without each word are kept: another concept, or a newer model, then costs nothing
SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # written without spaces: each is a word
WORD = re.compile(rf"([{SIGNS}]|(?:[^\W{SIGNS}]|(?<=\w)['’](?=\w))+)")

FROM_FILES = "The features of this project came from files, so what a single word adds cannot be told."
FROM_PICTURES = "This project's features are made from pictures, so its words add nothing to what the model says."
NO_TEXT = "This item has no text."
NO_MODEL = "There is no model yet that could say which words matter: train one first."
TOO_LONG = f"Only the first {MOST} different words were tried."


def pieces_of(text: str) -> tuple[list[shapes.Piece], list[str]]:
    """A text in pieces that make it up again, and the different words among them, large and small letters alike.

    >>> pieces, words = pieces_of("The cat, the mat.")
    >>> [(piece.text, piece.word) for piece in pieces]
    [('The', 0), (' ', None), ('cat', 1), (', ', None), ('the', 0), (' ', None), ('mat', 2), ('.', None)]
    >>> words
    ['the', 'cat', 'mat']
    """
    numbers: dict[str, int] = {}
    pieces = []
    for place, text_part in enumerate(WORD.split(text)):
        number = None
        if place % 2:
            word = text_part.casefold()
            number = numbers.setdefault(word, len(numbers)) if word in numbers or len(numbers) < MOST else None
        if text_part:
            pieces.append(shapes.Piece(text=text_part, word=number))
    return pieces, list(numbers)


def without(pieces: Sequence[shapes.Piece], word: int) -> str:
    """The text without a word, wherever it stands.

    >>> without(pieces_of("The cat, the mat.")[0], 0)
    ' cat,  mat.'
    """
    return "".join(piece.text for piece in pieces if piece.word != word)


class Occlusion:
    """Tells which words speak for a concept."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._lock = Lock()  # an embedder is loaded once, and asked by one thread at a time
        self._of: Contents | None = None
        self._embedder: Embedder | None = None
        self._features: OrderedDict[int, Floats] = OrderedDict()

    def words(self, item: int, concepts: Sequence[int]) -> shapes.Words:
        """What the model says of some concepts (stable ids) of an item, and what without each of its words."""
        now = self.state.snapshot()
        (shown,) = self.state.store.items([item])
        learner = now.model.learner
        reason = self._reason(shown)
        if reason is not None or learner is None:
            return shapes.Words(pieces=[], concepts=[], note=reason or NO_MODEL)
        pieces, found = pieces_of(shown.text or "")
        rows = self._rows(now, item, shown.text or "", [without(pieces, word) for word in range(len(found))])
        labels = now.labels.take(np.full(len(rows), item))
        with now.model.lock:
            p = learner.opinions(rows, labels)
        cut = len(found) == MOST and any(piece.word is None and WORD.fullmatch(piece.text) for piece in pieces)
        return shapes.Words(
            pieces=pieces,
            concepts=[
                shapes.Spoken(concept=concept, probability=said[0], without=said[1:])
                for concept in concepts
                for said in [np.round(p[:, now.contents.number_of[concept]].astype(float), 4).tolist()]
            ],
            note=TOO_LONG if cut else None,
        )

    def _reason(self, item: Item) -> str | None:
        """Why nothing can be told, if so."""
        if not item.text:
            return NO_TEXT
        used = self.state.store.setting("embed", GIVEN)
        if used == GIVEN:
            return FROM_FILES
        with self._lock:
            if self._of is not self.state.store.contents:  # items may have been embedded in another way since
                self._embedder = used_embedder(self.state.store, used)
                self._of = self.state.store.contents
                self._features.clear()
            return None if self._embedder is not None and self._embedder.reads == "text" else FROM_PICTURES

    def _rows(self, now: Snapshot, item: int, text: str, texts: list[str]) -> Floats:
        """The features of the text, and of each text without a word."""
        with self._lock:
            if item in self._features:
                self._features.move_to_end(item)
                return self._features[item]
            assert self._embedder is not None
            rows, _ = self._embedder.rows([text, *texts])
            if now.contents is self._of:
                self._features[item] = rows
                while len(self._features) > KEPT:
                    self._features.popitem(last=False)
            return rows
