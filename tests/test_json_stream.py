"""Large JSON files entry by entry: the same as json.loads, wherever a file is cut into parts."""

import json
import re
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ramify.errors import RamifyError
from ramify.readers.json_stream import sections

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)
OBJECTS = st.dictionaries(
    st.text(max_size=8), PLAIN | st.lists(VALUES, max_size=5) | st.dictionaries(st.text(max_size=5), VALUES, max_size=5)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parts")


def read_whole(path, chunk=1 << 20):
    """What json.loads would give."""
    found = {}
    for section in sections(path, chunk):
        entries = list(section.entries)
        if section.kind == "object":
            found[section.name] = dict(entries)
        else:
            assert [place for place, _ in entries] == list(range(1, len(entries) + 1))
            values = [value for _, value in entries]
            found[section.name] = values if section.kind == "list" else values[0]
    return found


@settings(max_examples=100, deadline=None)
@given(OBJECTS, st.integers(1, 9), st.booleans(), st.sampled_from([None, 1]), st.sampled_from([b"", b"\xef\xbb\xbf"]))
@example({"a": [1.5e300, -0.25, 1e-7, True, None, '\\u00e4\\"', "ä😀"]}, 1, True, None, b"")
def test_a_file_says_the_same_wherever_it_is_cut_into_parts(folder, content, chunk, ascii_only, indent, mark):
    path = folder / "a.json"
    path.write_bytes(mark + json.dumps(content, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "ignore"))
    assert read_whole(path, chunk) == json.loads(path.read_bytes().removeprefix(mark))


def test_a_key_of_two_lines_is_told_in_one(tmp_path):
    (tmp_path / "a.json").write_text('{"two\\nlines": [1,')
    with pytest.raises(RamifyError) as caught:
        read_whole(tmp_path / "a.json", 4)
    assert str(caught.value).startswith(f"{tmp_path / 'a.json'}, 'two\\nlines', element ")


@settings(max_examples=80, deadline=None)
@given(OBJECTS, st.integers(1, 9), st.data())
def test_every_damaged_file_is_one_sentence(folder, content, chunk, data):
    """Cut off or with a byte changed: it is refused with a sentence, or it is JSON as json.loads understands it."""
    path = folder / "a.json"
    whole = bytearray(json.dumps(content).encode())
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        del whole[place:]
    else:
        whole[place] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    try:
        expected = json.loads(bytes(whole))
    except (ValueError, RecursionError):
        expected = None
    if isinstance(expected, dict):
        with suppress(RamifyError):  # a key that stands twice is refused here
            assert read_whole(path, chunk) == expected
    else:
        with pytest.raises(RamifyError, match=rf"^{re.escape(str(path))}[^\n]*$"):
            read_whole(path, chunk)


@pytest.mark.parametrize("chunk", [1, 1 << 20])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file is empty: copy it again"),
        (b" \n ", ": the file is empty: copy it again"),
        (b"[1, 2]", ': this is no object such as {"images": [...]}: it may be of another kind'),
        (b"\xff\xd8\xff\xe0", ": this is not UTF-8: save the file with the encoding UTF-8"),
        (b'{"a": [1, 2', ", a, element 2: the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": [1, ', ", a, element 2: the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": [1, {"x": "y', ", a, element 2: the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": [1, tru', ", a, element 2: the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": {"x": [1], "y": [', ", a, 'y': the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": 1', ": the file ends here, in the middle: it is cut off: copy it again"),
        (b'{"a": [1], ', ": the file ends here, in the middle: it is cut off: copy it again"),
        (
            b'{"a": [1, 2 3, 4]}',
            ", a, element 2: this is not valid JSON: write the file again with the tool that made it",
        ),
        (b'{"a": [1, 2,]}', ", a, element 3: this is not valid JSON: write the file again with the tool that made it"),
        (
            b'{"a": [1, nope, 2]}',
            ", a, element 2: this is not valid JSON: write the file again with the tool that made it",
        ),
        (b"{a: [1]}", ": this is not valid JSON: write the file again with the tool that made it"),
        (b'{"a": ["x", "caf\xe9"]}', ", a, element 2: this is not UTF-8: save the file with the encoding UTF-8"),
        (b'{"a": [1]} x', ": something stands after the end of the object: remove it"),
        (b'{"a": [1], "a": [2]}', ": 'a' stands twice: keep one"),
        (b'{"a": {"x": 1, "x": 2}}', ", a, 'x': it stands twice: keep one"),
        (b'{"a": [1, ' + b"[" * 100_000, ", a, element 2: its lists within lists are too deep: write them flatter"),
        (
            b'{"a": [' + b"9" * 5000 + b"]}",
            ", a, element 1: this is not valid JSON: write the file again with the tool that made it",
        ),
    ],
)
def test_every_mistake_names_its_place(tmp_path, content, message, chunk):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(RamifyError, match=f"^{re.escape(str(path) + message)}$"):
        read_whole(path, chunk)


def test_what_nobody_asks_for_is_passed_over(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"skipped": [1, {"x": [2]}], "half": [3, 4, 5], "last": {"y": 6}}')
    read = [next(section.entries) for section in sections(path, 2) if section.name != "skipped"]
    assert read == [(1, 3), ("y", 6)]


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(RamifyError, match="there is no such file"):
        list(sections(tmp_path / "none.json"))
