"""Scenes: the same for the same seed, with labels like those of real data, and worth learning from."""

import warnings

import numpy as np
import pytest
from PIL import Image, ImageDraw
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from ramify.demo import scenes
from ramify.demo.icons import ICONS, Pen, draw_icon
from ramify.demo.scenes import FINE, TAXONOMY, contact_sheet, draw, render

TRAINED = 1800  # of the scenes below; the others test


@pytest.fixture(scope="module")
def rendered():
    return render(seed=0, count=2400)


def test_the_same_seed_gives_the_same_pixels_and_another_seed_others():
    (one, names), (two, again), (other, _) = draw(1, 7), draw(1, 7), draw(2, 7)
    assert one.tobytes() == two.tobytes() != other.tobytes()
    assert names == again == sorted(set(names))
    assert one.mode == "RGB"
    assert one.size == (128, 128)


def test_engines_agree_and_a_scene_does_not_depend_on_how_many_are_drawn(monkeypatch):
    monkeypatch.setattr(scenes, "BATCH", 5)
    monkeypatch.setattr(scenes, "MANY", 10)
    features, labels = render(seed=3, count=12)
    fewer_features, fewer_labels = render(seed=3, count=7)
    assert np.allclose(features[:7], fewer_features, atol=1e-5)
    assert np.array_equal(labels[:7], fewer_labels)
    names = [[FINE[column] for column in np.flatnonzero(row)] for row in labels]
    assert [sorted(shown) for shown in names] == [draw(3, number)[1] for number in range(12)]


def test_no_scenes_give_empty_arrays():
    features, labels = render(seed=0, count=0)
    assert len(features) == len(labels) == 0
    assert labels.shape[1] == 20


def test_the_taxonomy_has_five_coarse_and_twenty_fine_concepts_and_an_icon_for_each():
    assert [len(names) for names in TAXONOMY.values()] == [4] * 5
    assert list(ICONS) == FINE


@pytest.mark.parametrize("name", FINE)
def test_every_icon_stays_about_inside_its_square(name):
    picture = Image.new("RGB", (200, 200), "black")
    draw_icon(name, Pen(ImageDraw.Draw(picture), (100, 100), 100), np.random.default_rng(0))
    left, top, right, bottom = picture.getbbox()
    assert min(left, top) >= 47
    assert max(right, bottom) <= 153
    assert max(right - left, bottom - top) >= 80


def test_a_tilted_and_mirrored_icon_is_the_same_icon_turned():
    def drawn(**way) -> Image.Image:
        picture = Image.new("RGB", (121, 121), "white")
        draw_icon("bird", Pen(ImageDraw.Draw(picture), (60, 60), 80, **way), np.random.default_rng(0))
        return picture

    def apart(one: Image.Image, two: Image.Image) -> float:
        return float(np.abs(np.asarray(one, float) - np.asarray(two, float)).mean())

    upright = drawn()
    mirrored = upright.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert apart(drawn(mirrored=True), mirrored) < 3 < apart(upright, mirrored)
    assert apart(drawn(tilt=90), upright.rotate(-90)) < 3


def test_a_scene_shows_one_to_six_icons():
    random = np.random.default_rng(0)
    contents = next(iter(scenes.THEMES.values()))[2]
    counts = [len(scenes._contents(random, contents)) for _ in range(500)]
    assert set(counts) == {1, 2, 3, 4, 5, 6}


def test_themes_name_known_concepts_and_their_shares_sum_to_one():
    assert sum(share for share, _, _ in scenes.THEMES.values()) == pytest.approx(1)
    assert {name for _, _, contents in scenes.THEMES.values() for name in contents} == set(FINE)


def test_labels_are_unbalanced_and_go_together(rendered):
    _, labels = rendered
    share = labels.mean(axis=0)
    assert share.min() > 0.01
    assert share.max() >= 4 * share.min()
    sums = labels.sum(axis=1)
    assert (sums.min(), sums.max()) == (1, 6)

    def lift(one: str, two: str) -> float:
        """How much more often two concepts are seen together than if they had nothing to do with each other."""
        a, b = FINE.index(one), FINE.index(two)
        return float((labels[:, a] & labels[:, b]).mean() / share[a] / share[b])

    assert min(lift("moon", "star"), lift("apple", "banana"), lift("boat", "fish")) > 1.5
    assert max(lift("boat", "banana"), lift("moon", "flower")) < 0.7


def test_all_labels_teach_much_and_few_teach_little(rendered):
    features, labels = rendered
    few = np.random.default_rng(0).choice(TRAINED, 16, replace=False)
    assert precision_at_1(features, labels, np.arange(TRAINED), max_iter=10) >= 0.9
    assert precision_at_1(features, labels, few, max_iter=60) < 0.75


def precision_at_1(features: np.ndarray, labels: np.ndarray, train: np.ndarray, max_iter: int) -> float:
    """The share of the untrained scenes that show their top-scored concept, by a network trained on some others."""
    features = (features - features[train].mean(axis=0)) / (features[train].std(axis=0) + 1e-6)
    network = MLPClassifier((512, 512), max_iter=max_iter, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few rounds are enough to tell
        network.fit(features[train], labels[train])
    best = network.predict_proba(features[TRAINED:]).argmax(axis=1)
    return float(labels[TRAINED:][np.arange(len(best)), best].mean())


def test_a_contact_sheet_holds_the_scenes():
    sheet = contact_sheet(seed=4, count=7)
    assert sheet.crop((6, 6, 134, 134)).tobytes() == draw(4, 0)[0].tobytes()
    assert sheet.crop((6, 180, 134, 308)).tobytes() == draw(4, 6)[0].tobytes()
