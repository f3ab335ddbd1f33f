"""JSON files larger than memory: one object whose lists and objects are read entry by entry."""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ramify.errors import RamifyError
from ramify.files import readable

__all__ = ["Section", "elements", "sections"]

CHUNK = 1 << 20  # bytes read at once
NEAR = 16  # characters: what is cut off by the end of the text is found wrong so near to it (-Infinity, \u00e4)
BLANK = re.compile(r"[ \t\n\r]*")
CUT_OFF = "the file ends here, in the middle: it is cut off: copy it again"
NOT_JSON = "this is not valid JSON: write the file again with the tool that made it"
NOT_UTF8 = "this is not UTF-8: save the file with the encoding UTF-8"


@dataclass(frozen=True)
class Section:
    """What stands under one key of a file's object."""

    path: Path
    name: str
    kind: str
    """``list``, ``object``, or ``value`` for anything else."""
    entries: Iterator[tuple[int | str, Any]]
    """Each entry with its place, which is its number from 1 on, or its key; a single one for a value."""

    def where(self, place: int | str) -> str:
        """How an error names an entry.

        >>> Section(Path("a.json"), "images", "list", iter(())).where(17)
        'a.json, images, element 17'
        >>> Section(Path("a.json"), "two\\nlines", "value", iter(())).where(1)
        "a.json, 'two\\\\nlines'"
        """
        name = self.name if self.name.isprintable() else repr(self.name)  # an error is one line, whatever a file holds
        return ", ".join(filter(None, (str(self.path), name))) + _SAID[self.kind].format(place)


_SAID = {"list": ", element {}", "object": ", {!r}", "value": ""}


def sections(path: str | Path, chunk: int = CHUNK) -> Iterator[Section]:
    """The keys of a file's object in their order; entries are read while one asks for them, and forgotten.

    A section's entries can be read until the next section is asked for; what nobody asks for is checked all the same.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.json").write_text('{"classes": ["cat", "dog"], "labels": {"x": 1}, "version": 2}')
    ...     [(part.name, part.kind, list(part.entries)) for part in sections(Path(folder, "a.json"))]
    [('classes', 'list', [(1, 'cat'), (2, 'dog')]), ('labels', 'object', [('x', 1)]), ('version', 'value', [(1, 2)])]
    """
    path = Path(path)
    with readable(path) as file:
        text = _Text(path, file, chunk)
        if not text.next_sign():
            raise RamifyError(f"{path}: {text.failure or 'the file is empty: copy it again'}")
        if text.next_sign() != "{":
            raise RamifyError(f'{path}: this is no object such as {{"images": [...]}}: it may be of another kind')
        seen: set[str] = set()
        for name in text.names():
            if name in seen:
                raise RamifyError(f"{path}: {name!r} stands twice: keep one")
            seen.add(name)
            section = text.section(name)
            yield section
            for _ in section.entries:
                pass
        if text.next_sign() or text.failure:
            raise RamifyError(f"{path}: {text.failure or 'something stands after the end of the object: remove it'}")


def elements(path: str | Path, chunk: int = CHUNK) -> Iterator[tuple[int, Any]]:
    """The elements of a file that is one list, with their numbers from 1 on, read while one asks for them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.json").write_text('[{"id": 1}, {"id": 2}]')
    ...     list(elements(Path(folder, "a.json")))
    [(1, {'id': 1}), (2, {'id': 2})]
    """
    path = Path(path)
    with readable(path) as file:
        text = _Text(path, file, chunk)
        if text.next_sign() != "[":
            raise RamifyError(f"{path}: {text.failure or 'this is no list such as [{...}, {...}]'}")
        for place, entry in text.section("").entries:
            yield int(place), entry
        if text.next_sign() or text.failure:
            raise RamifyError(f"{path}: {text.failure or 'something stands after the end of the list: remove it'}")


class _Text:
    """The text of a file from where the reading is, as much of it as is needed."""

    def __init__(self, path: Path, file: BinaryIO, chunk: int) -> None:
        self.path, self.file, self.chunk = path, file, chunk
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.scan = json.JSONDecoder().raw_decode
        self.text, self.at = "", 0
        self.ended = False
        self.failure = ""
        """Why the text ends before the file does."""
        self.reading: Section | None = None
        self.entry: int | str = ""
        """What is being read, for the sentence of an error."""

    # -- the text ----------------------------------------------------------------------------------------------------

    def more(self) -> None:
        """Read on; twice as much where an entry is long, so that looking at it again and again stays cheap."""
        left = self.text[self.at :]
        content = self.file.read(max(self.chunk, len(left)))
        try:
            added = self.decoder.decode(content, final=not content)
        except UnicodeDecodeError as error:  # what stands before it is read first, so that the error names the place
            added, self.failure = error.object[: error.start].decode("utf-8-sig"), NOT_UTF8
        self.ended = not content or bool(self.failure)
        self.text, self.at = left + added, 0

    def next_sign(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            self.at = BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.more()

    def take(self, signs: str) -> str:
        """Step over one of these characters."""
        found = self.next_sign()
        if not found or found not in signs:
            raise self.wrong(NOT_JSON if found else CUT_OFF)
        self.at += 1
        return found

    def value(self) -> Any:
        """Step over a value."""
        self.next_sign()
        while True:
            try:
                value, end = self.scan(self.text, self.at)
            except json.JSONDecodeError as error:
                endless = error.msg.startswith("Unterminated string")
                rest = self.text[error.pos :]
                if not endless and (len(rest) > NEAR or (self.ended and re.search(r'[\]},:"\s]', rest))):
                    raise self.wrong(NOT_JSON) from None
                if self.ended:
                    raise self.wrong(CUT_OFF) from None
            except RecursionError:
                raise self.wrong("its lists within lists are too deep: write them flatter") from None
            except ValueError:  # a number of thousands of digits
                raise self.wrong(NOT_JSON) from None
            else:
                # A number may go on, or may have been read only up to its point: 1. of 1.5
                if isinstance(value, str | list | dict) or end < len(self.text) - NEAR or self.ended:
                    self.at = end
                    return value
            self.more()

    def wrong(self, why: str) -> RamifyError:
        """The sentence for what cannot be read here."""
        place = self.path if self.reading is None else self.reading.where(self.entry)
        return RamifyError(f"{place}: {self.failure if self.failure and why == CUT_OFF else why}")

    # -- what it says ------------------------------------------------------------------------------------------------

    def names(self) -> Iterator[str]:
        """The keys of the object that begins here; after each, its value is to be stepped over."""
        self.take("{")
        if self.next_sign() == "}":
            self.take("}")
            return
        while True:
            if self.next_sign() not in ('"', ""):
                raise self.wrong(NOT_JSON)
            key = self.value()
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def section(self, name: str) -> Section:
        """What stands under a key of the whole."""
        kind = {"[": "list", "{": "object"}.get(self.next_sign(), "value")
        entries = {"list": self._elements, "object": self._pairs, "value": self._single}[kind]
        self.reading, self.entry = Section(self.path, name, kind, entries()), 1
        return self.reading

    def _single(self) -> Iterator[tuple[int | str, Any]]:
        yield 1, self.value()
        self.reading = None

    def _elements(self) -> Iterator[tuple[int | str, Any]]:
        self.take("[")
        if self.next_sign() == "]":
            self.take("]")
        else:
            sign, number = ",", 0
            while sign == ",":
                self.entry = number = number + 1
                value = self.value()
                sign = self.take(",]")
                yield number, value
        self.reading = None

    def _pairs(self) -> Iterator[tuple[int | str, Any]]:
        seen: set[str] = set()
        for key in self.names():
            self.entry = key
            if key in seen:
                raise self.wrong("it stands twice: keep one")
            seen.add(key)
            yield key, self.value()
        self.reading = None
