"""Adding items to a project: all or nothing, twice is once, and an interruption costs only what was under way."""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import disks
from ramify.embed.pictures import PictureEmbedder, embed_pictures
from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError
from ramify.project.store.store import Store
from ramify.project.transfer import importing
from ramify.project.transfer.features import drop_drafts, embedded, image_folder, used_embedder
from ramify.project.transfer.importing import add, init, prepare

WORDS = ["cat purrs softly", "dog barks", "red apple", "yellow banana", "cat and dog", "apple pie"]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "taxonomy.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    with init(tmp_path / "project", tmp_path / "taxonomy.yaml") as store:
        yield store


def table(path, count=6, start=0):
    lines = [f"{n},{WORDS[n % 6]} {n},{'animal' if n % 6 in (0, 1, 4) else 'food'}" for n in range(start, count)]
    path.write_text("\n".join(["id,text,labels", *lines]) + "\n")
    return path


def refused(store, source, message, **options):
    """The sentence is told, and nothing at all is added."""
    items, features = len(store), store.features()
    with pytest.raises(RamifyError, match=f"^{re.escape(message)}"):
        add(store, source, **options)
    assert len(store) == items
    assert features is None or np.array_equal(store.features(), features)


def pictures(folder, count=5):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("RGB", (16, 16), (40 * number, 100, 0)).save(folder / f"{number}.png")
    lines = [f"p{number},{number}.png,animal" for number in range(count)]
    path = folder.parent / "pictures.csv"
    path.write_text("\n".join(["id,picture,labels", *lines]) + "\n")
    return path


# -- texts -----------------------------------------------------------------------------------------------------------


def test_texts_are_embedded_and_added(store, tmp_path):
    done = add(store, table(tmp_path / "items.csv"))
    assert (done.added, done.present, done.embed, done.left_out, done.ignored) == (6, 0, "text", [], ())
    assert store.all_ids().tolist() == ["0", "1", "2", "3", "4", "5"]
    assert store.items([3])[0].text == "yellow banana 3"
    assert store.features().shape == (6, 5)
    assert store.labels().states(concepts=["animal", "food", "cat", "apple"])[:3].tolist() == [
        [1, 0, -1, 0],
        [1, 0, -1, 0],
        [0, 1, 0, -1],
    ]
    assert not (store.folder / "drafts").exists()


def test_adding_twice_is_adding_once(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    features, labels = store.features().copy(), store.labels()
    done = add(store, tmp_path / "items.csv")
    assert (done.added, done.present) == (0, 6)
    assert np.array_equal(store.features(), features)
    assert store.labels() == labels


def test_later_items_are_embedded_by_what_the_first_ones_taught(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    store.new_model(lambda folder: {})
    done = add(store, table(tmp_path / "more.csv", 9, start=3))
    assert (done.added, done.present, done.embed, done.notes) == (3, 3, "text", ())
    by = TextEmbedder.load(store.folder / "embedder")
    assert np.allclose(store.features()[6:], by.rows([f"{WORDS[n % 6]} {n}" for n in (6, 7, 8)])[0], atol=1e-6)


def test_new_labels_of_items_that_are_there_are_taken_in(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    (tmp_path / "fine.csv").write_text("id,fine_labels\n0,cat\n2,apple;-banana\n")
    done = add(store, tmp_path / "fine.csv")
    assert (done.added, done.present) == (0, 2)
    assert store.labels().states([0, 2]).tolist() == [[1, -1, 0, 0], [0, 0, 1, 0]]


def test_an_item_that_changed_is_refused_with_its_row(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    (tmp_path / "b.csv").write_text("id,text,labels\nnew,bird,animal\n3,green banana,food\n")
    refused(
        store,
        tmp_path / "b.csv",
        f"{tmp_path / 'b.csv'}, row 3: the item '3' is in the project already, with another text: "
        "give the new one another id, or leave it out",
    )


def test_an_interrupted_embedding_goes_on(store, tmp_path, monkeypatch):
    monkeypatch.setattr(TextEmbedder, "batch", 2)
    honest, asked = TextEmbedder.rows, []

    def rows(self, values):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(values)
        return honest(self, values)

    monkeypatch.setattr(TextEmbedder, "rows", rows)
    with pytest.raises(KeyboardInterrupt):
        add(store, table(tmp_path / "items.csv"))
    assert len(store) == 0
    asked.clear()
    fitted = []
    monkeypatch.setattr(TextEmbedder, "fit", lambda self, values: fitted.append(values))
    add(store, tmp_path / "items.csv")
    assert len(asked) == 1, "only the last batch was left"
    assert fitted == [], "what was learned is kept too"
    assert len(store) == 6
    by = TextEmbedder.load(store.folder / "embedder")
    assert np.allclose(store.features(), honest(by, [f"{WORDS[n]} {n}" for n in range(6)])[0], atol=1e-6)


def test_a_failed_first_try_leaves_nothing_that_matters(store, tmp_path, monkeypatch):
    table(tmp_path / "items.csv")
    with monkeypatch.context() as broken:
        broken.setattr(Store, "add", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            add(store, tmp_path / "items.csv")
    np.save(tmp_path / "f.npy", np.arange(12.0).reshape(6, 2))
    assert add(store, tmp_path / "items.csv", features=tmp_path / "f.npy").embed == "features"
    assert store.setting("embed") == "features"


def test_items_without_text_are_listed(store, tmp_path):
    (tmp_path / "a.csv").write_text("id,text,labels\na,purrs,animal\nb,,food\n")
    refused(
        store,
        tmp_path / "a.csv",
        "1 of 2 items cannot be read, so nothing was changed; mend them and run the same command again "
        "(what is embedded stays so), or leave them out with --skip-unreadable:\n"
        f"  {tmp_path / 'a.csv'}, row 3 ('b'): it has no text",
    )
    done = add(store, tmp_path / "a.csv", skip_unreadable=True)
    assert done.added == 1
    assert done.left_out == [f"{tmp_path / 'a.csv'}, row 3 ('b'): it has no text"]


# -- features --------------------------------------------------------------------------------------------------------


def test_features_of_a_file(store, tmp_path):
    rows = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    np.save(tmp_path / "f.npy", rows)
    add(store, table(tmp_path / "items.csv"), features=tmp_path / "f.npy")
    assert np.array_equal(store.features(), rows)
    assert add(store, tmp_path / "items.csv").present == 6
    assert add(store, tmp_path / "items.csv", features=tmp_path / "f.npy").present == 6
    more = table(tmp_path / "more.csv", 8)
    refused(store, more, f"the features of {store.folder} come from files: give those of {more} with --features")
    refused(store, more, f"the features of {store.folder} come from files: give --features", embed="text")
    refused(
        store,
        more,
        f"{tmp_path / 'f.npy'} holds 6 x 3 numbers for the 8 items of {more}: give one row for each item",
        features=tmp_path / "f.npy",
    )


def test_wrong_features_are_refused(store, tmp_path):
    items = table(tmp_path / "items.csv")
    refused(store, items, f"{tmp_path / 'n.npy'}: there is no such file", features=tmp_path / "n.npy")
    (tmp_path / "n.npy").write_bytes(b"\x93NUMPY nonsense")
    refused(store, items, f"{tmp_path / 'n.npy'}: this is not a whole .npy file", features=tmp_path / "n.npy")
    np.save(tmp_path / "n.npy", np.full((6, 1), np.nan))
    refused(store, items, f"{tmp_path / 'n.npy'}: the features of row 0, column 0 are nan", features=tmp_path / "n.npy")
    refused(store, items, "give either --features or --embed, not both", features=tmp_path / "n.npy", embed="text")


def test_a_project_stays_with_its_embedder(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    more = table(tmp_path / "more.csv", 8)
    message = f"the items of {store.folder} are embedded by text: leave --embed and --features out"
    refused(store, more, message, embed="pictures")
    refused(store, more, message, features=tmp_path / "f.npy")
    assert add(store, more, embed="text").added == 2


def test_what_to_embed_must_be_clear(store, tmp_path):
    (tmp_path / "a.csv").write_text("id,labels\na,animal\n")
    refused(store, tmp_path / "a.csv", "the items have neither texts nor pictures: say --embed text")
    refused(store, tmp_path / "a.csv", "there is no embedder 'wordz': choose text, words, pictures, ", embed="wordz")


# -- pictures --------------------------------------------------------------------------------------------------------


def test_pictures_are_embedded_and_found_again(store, tmp_path):
    path = pictures(tmp_path / "images")
    done = add(store, path, images=tmp_path / "images")
    assert (done.added, done.embed) == (5, "pictures")
    assert image_folder(store) == (tmp_path / "images").resolve()
    assert store.items([2])[0].picture == "2.png"
    assert np.array_equal(store.features()[2], embed_pictures([Image.open(tmp_path / "images" / "2.png")])[0])
    assert add(store, path).present == 5, "the folder is known now"


def test_pictures_inside_the_project_move_with_it(store, tmp_path):
    add(store, pictures(store.folder / "images"), images=store.folder / "images")
    store.close()
    store.folder.rename(tmp_path / "elsewhere")
    with Store(tmp_path / "elsewhere") as moved:
        assert image_folder(moved) == (tmp_path / "elsewhere" / "images").resolve()


def test_pictures_outside_of_the_folder_are_refused(store, tmp_path):
    pictures(tmp_path / "images")
    (tmp_path / "a.csv").write_text("id,image\na,0.png\nb,../secret.png\n")
    refused(
        store,
        tmp_path / "a.csv",
        f"{tmp_path / 'a.csv'}, row 3: the picture '../secret.png' lies outside of {tmp_path / 'images'}, where this "
        "project's pictures are: move it there, or name another folder with --images",
        images=tmp_path / "images",
    )
    refused(store, tmp_path / "a.csv", f"{tmp_path / 'none'}: there is no such folder", images=tmp_path / "none")


def test_unreadable_pictures_are_listed_and_only_they_are_embedded_again(store, tmp_path, monkeypatch):
    path = pictures(tmp_path / "images")
    (tmp_path / "images" / "1.png").write_text("broken")
    (tmp_path / "images" / "3.png").unlink()
    asked = []
    honest = PictureEmbedder.rows
    monkeypatch.setattr(PictureEmbedder, "rows", lambda self, values: asked.extend(values) or honest(self, values))
    broken = "this is not a whole picture of a kind that can be read"
    with pytest.raises(RamifyError) as caught:
        add(store, path, images=tmp_path / "images")
    assert str(caught.value).splitlines()[1:] == [f"  {path}, row 5 ('p3'): there is no such file"]
    assert asked == [], "what is missing is told before anything takes long"
    Image.new("RGB", (16, 16), "white").save(tmp_path / "images" / "3.png")
    with pytest.raises(RamifyError) as caught:
        add(store, path, images=tmp_path / "images")
    assert str(caught.value).splitlines()[1:] == [f"  {path}, row 3 ('p1'): {broken}"]
    asked.clear()
    Image.new("RGB", (16, 16), "white").save(tmp_path / "images" / "1.png")
    assert add(store, path, images=tmp_path / "images").added == 5
    assert asked == [str(tmp_path / "images" / "1.png")]


def test_left_out_pictures_can_be_added_later(store, tmp_path):
    path = pictures(tmp_path / "images")
    (tmp_path / "images" / "1.png").rename(tmp_path / "kept.png")
    done = add(store, path, images=tmp_path / "images", skip_unreadable=True)
    assert (done.added, len(done.left_out)) == (4, 1)
    (tmp_path / "kept.png").rename(tmp_path / "images" / "1.png")
    assert add(store, path).added == 1
    assert store.all_ids().tolist() == ["p0", "p2", "p3", "p4", "p1"]
    assert np.array_equal(store.features()[4], embed_pictures([Image.open(tmp_path / "images" / "1.png")])[0])


def test_a_folder_of_pictures_alone_is_enough(store, tmp_path):
    for name in ("cat", "food"):
        pictures(tmp_path / "all" / name)
    done = add(store, tmp_path / "all")
    assert (done.added, done.embed) == (10, "pictures")
    assert store.items([0])[0].picture == "cat/0.png"
    assert store.labels().states([0, 9]).tolist() == [[1, -1, 0, 0], [0, 0, -1, -1]]
    assert add(store, tmp_path / "all").present == 10


def test_new_items_are_prepared_without_being_added(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    (tmp_path / "new.csv").write_text("id,text\nx,a cat\n3,yellow banana 3\n")
    incoming = prepare(store, tmp_path / "new.csv", new=True)
    assert incoming.ids == ["x", "3"]
    assert np.allclose(incoming.features[1], store.features()[3], atol=1e-6)
    assert len(store) == 6


def test_new_pictures_may_lie_anywhere(store, tmp_path):
    add(store, pictures(tmp_path / "images"), images=tmp_path / "images")
    (tmp_path / "other").mkdir()
    Image.new("RGB", (16, 16), "white").save(tmp_path / "other" / "new.png")
    (tmp_path / "other" / "new.csv").write_text("id,picture\nx,new.png\n")
    assert prepare(store, tmp_path / "other" / "new.csv", new=True).features.shape == (1, 768)
    refused(
        store,
        tmp_path / "other",
        f"{tmp_path / 'other' / 'new.png'}: the picture 'new.png' lies outside of {tmp_path / 'images'}, where this "
        "project's pictures are: move it there",
    )


def test_a_project_is_not_made_from_nothing(tmp_path):
    with pytest.raises(RamifyError, match="there is no such file"):
        init(tmp_path / "project", tmp_path / "none.yaml")
    assert not (tmp_path / "project").exists()


# -- two first adds at once ------------------------------------------------------------------------------------------


@pytest.fixture
def overtaken(store, monkeypatch):
    """Another process adds the first items when ours are read and embedded, but not yet added."""

    def begin(*arguments, **options):
        def prepared(*ours, **rest):
            incoming = prepare(*ours, **rest)
            monkeypatch.undo()
            with Store(store.folder) as other:
                add(other, *arguments, **options)
            return incoming

        monkeypatch.setattr(importing, "prepare", prepared)

    return begin


def test_who_comes_second_is_embedded_by_what_the_first_taught(store, tmp_path, overtaken):
    overtaken(table(tmp_path / "first.csv", 4), embed="text")
    done = add(store, table(tmp_path / "second.csv", 30, start=3), embed="text")
    assert (done.added, done.present, done.embed) == (26, 1, "text")
    by = used_embedder(store, "text")
    texts = [f"{WORDS[n % 6]} {n}" for n in range(30)]
    assert store.all_ids().tolist() == [str(n) for n in range(30)]
    assert store.features().shape == (30, 15), "without a model, what the first four taught is learned again from all"
    assert np.allclose(store.features(), by.rows(texts)[0], atol=1e-6)
    assert not (store.folder / "drafts").exists()


def test_who_comes_second_with_other_features_is_told_so(store, tmp_path, overtaken):
    np.save(tmp_path / "f.npy", np.arange(12.0).reshape(6, 2))
    overtaken(table(tmp_path / "first.csv"), features=tmp_path / "f.npy")
    second = table(tmp_path / "second.csv", 9, start=6)
    with pytest.raises(RamifyError) as refused:
        add(store, second)
    assert str(refused.value) == (
        f"the features of {store.folder} come from files: give those of {second} with --features"
    )
    assert store.setting("embed") == "features"
    assert not (store.folder / "embedder").exists()
    store.refresh()
    assert store.features().tolist() == np.arange(12.0).reshape(6, 2).tolist()


def test_a_full_disk_is_said_while_embedding(store, tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    table(tmp_path / "items.csv")
    for name in ("mkdir", "open"):
        with monkeypatch.context() as broken:
            broken.setattr(Path, name, full)
            with pytest.raises(RamifyError, match="drafts: the disk is full; nothing was embedded: make room"):
                embedded(store, TextEmbedder(), ["a cat", "a dog"], {}, {}, None)
    assert add(store, tmp_path / "items.csv").added == 6


def test_texts_are_embedded_for_a_project_that_can_only_be_read(store, tmp_path):
    add(store, table(tmp_path / "items.csv"))
    store.close()
    (tmp_path / "new.csv").write_text("id,text\nx,a cat\n3,yellow banana 3\n")
    with disks.read_only(store.folder, tmp_path / "ro") as folder, Store(folder) as reading:
        incoming = prepare(reading, tmp_path / "new.csv", new=True)
        assert np.allclose(incoming.features[1], reading.features()[3], atol=1e-6)
        drop_drafts(reading, incoming.drafts)
        with pytest.raises(RamifyError, match="ro can only be read; nothing was changed"):
            add(reading, tmp_path / "new.csv")
