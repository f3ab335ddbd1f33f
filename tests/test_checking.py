"""ramify check: what is whole, what was altered behind Ramify's back, and how it is mended."""

import pytest
from sqlalchemy import delete

from ramify.project.store import checking
from ramify.project.store.checking import check
from ramify.project.store.items import put
from ramify.project.store.revisions import checksum_key
from ramify.project.store.schema import meta, models
from ramify.project.store.store import Store
from store_checks import coarse, filled
from test_cli import ramify


@pytest.fixture
def store(tmp_path):
    with filled(tmp_path / "project") as store:
        store.new_model(lambda folder: {"learner": str((folder / "weights").write_bytes(bytes(5000)))})
        yield store


def flip(path):
    """Alter one byte in the middle of a file; its size stays."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damages(store) -> dict[str, str]:
    return {finding.what.split(" (")[0]: finding.damage for finding in check(store) if finding.damage}


def test_a_project_is_whole_whatever_was_done_with_it(store):
    assert [finding.what.split(" (")[0] for finding in check(store)] == [
        "database", "features", "imported labels", "model 1",
    ]  # fmt: skip
    assert damages(store) == {}
    store.add(["more"], None, None, [[1, 1]], coarse(1))
    store.record("k", "ann", [(0, 1, "yes")])
    store.split("cat", ["tabby", "siamese"])
    store.replace_features([[0.5, 1, 2]] * len(store), {})
    assert damages(store) == {}


@pytest.mark.parametrize(
    ("pattern", "what", "remedy"),
    [
        ("features-*.npy", "features", "ramify embed DIR --again"),
        ("imported-*.npz", "imported labels", "ramify export DIR --events"),
        ("models/0001/weights", "model 1", "ramify train DIR"),
    ],
)
def test_an_altered_byte_is_found_and_its_remedy_named(store, pattern, what, remedy):
    (path,) = store.folder.glob(pattern)
    flip(path)
    (finding,) = [finding for finding in check(store) if finding.damage]
    assert finding.what.startswith(what)
    assert finding.damage == f"{path.name} has other contents than it had"
    assert remedy in finding.remedy
    path.write_bytes(b"")
    assert "bytes instead of" in damages(store)[what]
    path.unlink()
    assert damages(store) == {what: f"{path.name} is missing"}


def test_what_an_older_ramify_wrote_gets_its_checksum(store):
    with store.database.write() as connection:
        connection.execute(delete(meta).where(meta.c.key.like("checksum %")))
    notes = [finding.note for finding in check(store) if finding.note]
    assert notes == ["no checksum was kept of it; it has one from now on"] * 2
    assert not any(finding.note for finding in check(store))
    flip(next(store.folder.glob("features-*.npy")))
    assert list(damages(store)) == ["features"]


def test_the_command(store):
    store.close()
    said = ramify("check", store.folder)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[0] == "database: whole"
    assert said.stdout.splitlines()[-1] == f"{store.folder} is what was written."
    flip(next(store.folder.glob("features-*.npy")))
    said = ramify("check", store.folder)
    assert said.returncode == 1
    assert "features-" in said.stdout
    assert "DAMAGED" in said.stdout
    assert f"ramify embed {store.folder} --again" in said.stdout
    assert said.stderr == f"ramify: {store.folder} is damaged in 1 place, see above\n"


def test_a_restored_project_is_whole(store, tmp_path):
    """Of several models a backup takes the newest; that older ones are missing is no damage."""
    store.new_model(lambda folder: {"learner": str((folder / "weights").write_bytes(bytes(50)))})
    store.backup(tmp_path / "b.zip")
    Store.restore(tmp_path / "b.zip", tmp_path / "again")
    with Store(tmp_path / "again") as restored:
        assert damages(restored) == {}
        assert [finding.what for finding in check(restored)][-1] == "model 2"


def test_a_file_that_another_process_replaces_meanwhile_is_no_damage(store, monkeypatch):
    honest = checking.damage

    def meanwhile(folder, files, thorough=False):
        monkeypatch.setattr(checking, "damage", honest)
        with Store(store.folder) as other:
            other.add(["more"], None, None, [[1, 1]], coarse(1))
        return honest(folder, files, thorough)

    monkeypatch.setattr(checking, "damage", meanwhile)
    assert damages(store) == {}
    with Store(store.folder) as again:
        assert len(again) == 4


def test_a_checksum_is_of_the_file_that_it_names(store):
    """An older Ramify, which keeps none, may have written the next file."""
    with store.database.write() as connection:
        put(connection, checksum_key("features"), ("features-0000.npy", 1, 2))
    assert damages(store) == {}
    flip(next(store.folder.glob("features-*.npy")))
    assert list(damages(store)) == ["features"]


def test_what_nobody_measured_is_not_called_whole(store):
    with store.database.write() as connection:
        connection.execute(models.update().values(files=None))
    assert [finding.note for finding in check(store)][-1] == "no checksums were kept of it"
