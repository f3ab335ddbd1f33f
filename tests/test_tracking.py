"""--track: runs are told to TensorBoard and MLflow, read back by these packages themselves; and what is refused."""

import sys

import numpy as np
import pytest

from ramify.data import Dataset
from ramify.data.bundle import known_labels
from ramify.errors import RamifyError
from ramify.experiments import common
from ramify.experiments.runs import run_comparison, run_simulation
from ramify.experiments.tracking import Run, tracker
from ramify.taxonomy import Taxonomy
from test_cli import run_in_process

RUN = Run(
    "coco/leml/warm-8/seed-0",
    {"learner": "leml", "warm": 8, "ratio": None, "exhaustive": True},
    {"p@1": 0.75, "p@5": None, "seconds": 2.5},
    [{"epoch": 1, "p@1": 0.25, "loss": 3.0}, {"epoch": 2, "p@1": 0.5, "loss": None}],
    "epoch",
)
FIGURES = {
    "by_epoch/p_at_1": [(1, 0.25), (2, 0.5)],
    "by_epoch/loss": [(1, 3.0)],
    "p_at_1": [(2, 0.75)],
    "seconds": [(2, 2.5)],
}
# What their own code warns of, where warnings are errors: a loader strategy that SQLAlchemy 2.1 gives up.
MLFLOW_S_OWN = pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow", "ignore:The ``noload`` loader")


@pytest.fixture
def source(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 6))
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "pear"]})
    Dataset(known_labels(taxonomy, (features[:, :4] > 0.3).astype(int)), features).save(tmp_path / "pets")
    return str(tmp_path / "pets")


@pytest.fixture
def tensorboard(tmp_path):
    """The address of a tracker, and all it was told: run, key, steps with values."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "board"

    def read():
        told = {}
        for place in sorted({path.parent for path in folder.rglob("events*")}):
            events = EventAccumulator(str(place)).Reload()
            told[str(place.relative_to(folder))] = {
                key: [(event.step, event.value) for event in events.Scalars(key)] for key in events.Tags()["scalars"]
            }
        return told

    return f"tensorboard:{folder}", read


@pytest.fixture
def mlflow(tmp_path):
    pytest.importorskip("mlflow")
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path / 'runs.db'}"

    def read():
        client = MlflowClient(tracking_uri=uri)
        experiment = client.get_experiment_by_name("ramify").experiment_id
        return {
            run.info.run_name: {
                key: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, key)]
                for key in run.data.metrics
            }
            for run in client.search_runs([experiment])
        }

    return f"mlflow:{uri}", read


# -- what is told ------------------------------------------------------------------------------------------------------


def test_tensorboard_shows_what_was_told_and_hides_what_is_outdated(tensorboard, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    address, read = tensorboard
    for _ in range(2):  # again, by a tracker that does not remember
        told = tracker(address)
        told.tell(RUN)
        told.tell(RUN)
    assert read() == {RUN.name: FIGURES}
    assert len(list((tmp_path / "board").rglob("events*"))) == 1
    metadata = (
        EventAccumulator(str(tmp_path / "board" / RUN.name)).Reload().SummaryMetadata("_hparams_/session_start_info")
    )
    said = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content).session_start_info.hparams
    assert {key: value.string_value for key, value in said.items()} == {
        "learner": "leml", "warm": "8", "ratio": "None", "exhaustive": "True"
    }  # fmt: skip

    longer = Run(RUN.name, RUN.parameters, {"p@1": 0.5}, [*RUN.curve, {"epoch": 3, "p@1": 0.875}], "epoch")
    tracker(address).tell(longer)
    assert read()[RUN.name]["by_epoch/p_at_1"] == [(1, 0.25), (2, 0.5), (3, 0.875)]
    assert read()[RUN.name]["p_at_1"] == [(3, 0.5)]


@MLFLOW_S_OWN
def test_mlflow_holds_what_was_told_once(mlflow, tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setattr("ramify.experiments.tracking.AT_ONCE", 2)
    address, read = mlflow
    for _ in range(2):
        told = tracker(address)
        told.tell(RUN)
        told.tell(RUN)
    assert read() == {RUN.name: FIGURES}
    client = MlflowClient(tracking_uri=address.removeprefix("mlflow:"))
    (run,) = client.search_runs([client.get_experiment_by_name("ramify").experiment_id])
    assert run.data.params == {"learner": "leml", "warm": "8", "ratio": "None", "exhaustive": "True"}
    assert run.info.status == "FINISHED"
    client.update_run(run.info.run_id, status="RUNNING")  # one that was interrupted while it was told
    tracker(address).tell(RUN)
    assert len(client.search_runs([run.info.experiment_id])) == 2


def test_a_run_without_a_curve_has_its_end():
    run = Run("x", {}, {"p@1": np.float64(0.5), "seconds": 1}, [], "epoch")
    assert run.figures() == [("p_at_1", 0, 0.5), ("seconds", 0, 1.0)]
    assert run.digest == Run("x", {}, {"p@1": 0.5, "seconds": 1}, [], "epoch").digest
    assert run.digest != Run("x", {}, {"p@1": 0.6, "seconds": 1}, [], "epoch").digest


# -- whole experiments -------------------------------------------------------------------------------------------------


def test_a_comparison_is_tracked_once_with_what_was_there_before(source, tmp_path, tensorboard):
    address, read = tensorboard
    settings = {"seeds": 1, "epochs": 2, "how": "serial"}
    run_comparison(source, ["leml"], [8], tmp_path / "out", **settings)
    for _ in range(2):
        done = run_comparison(source, ["leml", "fully-supervised"], [8], tmp_path / "out", track=address, **settings)
    told = read()
    assert len(list((tmp_path / "board").rglob("events*"))) == 2
    assert list(told) == ["pets/fully-supervised/warm-8/seed-0", "pets/leml/warm-8/seed-0"]
    for result in done.results:
        run = told[f"pets/{result['learner']}/warm-8/seed-0"]
        assert run["p_at_1"] == [(2, pytest.approx(result["p@1"]))]
        by_epoch = [(epoch["epoch"], pytest.approx(epoch["loss"])) for epoch in result["history"]]
        assert run["by_epoch/loss"] == by_epoch
        assert "p_at_5" not in run  # there are four fine concepts


@MLFLOW_S_OWN
def test_a_simulation_is_tracked_as_it_goes(source, tmp_path, mlflow, monkeypatch):
    monkeypatch.setitem(common.VARIANTS, "refine", ("refine", {"hidden": (16, 16), "steps": 30}))
    address, read = mlflow
    settings = {"warm": 6, "batch": 4, "seeds": 1, "how": "serial", "track": address, "rounds": 2}
    done = run_simulation(source, ["random-items"], tmp_path / "out", **settings)
    told = read()
    assert set(told) == {f"pets/refine/{strategy}/warm-6/seed-0" for strategy in ("random", "random-items")}
    for result in done.results:
        run = told[f"pets/refine/{result['strategy']}/warm-6/seed-0"]
        assert run["by_answers/p_at_1"] == [(row["answers"], row["p@1"]) for row in result["curve"]]
        assert run["p_at_3"] == [(8, result["curve"][-1]["p@3"])]
        assert run["item_views"] == [(8, result["curve"][-1]["item_views"])]
    run_simulation(source, ["random-items"], tmp_path / "out", resume=True, **settings)
    assert read() == told


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "simulate"])
@pytest.mark.parametrize("text", ["wandb:mine", "tensorboard", "tensorboard:", "mlflow:", ""])
def test_unknown_trackers_are_refused_before_anything_is_read(command, text, tmp_path):
    result = run_in_process(command, tmp_path / "nothing.npz", "--out", tmp_path / "out", "--track", text)
    assert str(result.exception) == f"--track takes tensorboard:DIR or mlflow:URI, not {text!r}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "hidden", "message"),
    [
        (
            "tensorboard:x",
            "torch.utils.tensorboard",
            "needs the package tensorboard: pip install 'ramify[tensorboard]'",
        ),
        ("mlflow:x", "mlflow", "needs the package mlflow-skinny: pip install 'ramify[mlflow]'"),
    ],
)
def test_a_missing_package_is_named(text, hidden, message, monkeypatch):
    monkeypatch.setitem(sys.modules, hidden, None)
    monkeypatch.delattr("torch.utils.tensorboard", raising=False)
    with pytest.raises(RamifyError) as refused:
        tracker(text)
    assert str(refused.value) == f"--track {text.partition(':')[0]} {message}"


def test_a_file_is_no_folder_of_events(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RamifyError, match="file is a file: give a folder for the results"):
        tracker(f"tensorboard:{tmp_path / 'file'}")


@MLFLOW_S_OWN
def test_an_address_that_mlflow_cannot_use_is_one_sentence():
    pytest.importorskip("mlflow")
    with pytest.raises(RamifyError) as refused:
        tracker("mlflow:nonsense://x")
    assert str(refused.value).startswith("mlflow cannot use nonsense://x (")
    assert str(refused.value).endswith("): give a server or a database, mlflow:sqlite:///runs.db")
    assert "\n" not in str(refused.value)


def test_a_tracker_that_fails_on_the_way_loses_nothing(source, tmp_path, tensorboard, monkeypatch):
    address, read = tensorboard
    settings = {"seeds": 1, "epochs": 1, "how": "serial", "track": address}

    def full(self, run, digest):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("ramify.experiments.tracking.TensorBoard._write", full)
        with pytest.raises(RamifyError) as refused:
            run_comparison(source, ["leml"], [8], tmp_path / "out", **settings)
    assert str(refused.value) == (
        "pets/leml/warm-8/seed-0 cannot be tracked ([Errno 28] No space left on device): "
        "results are kept, run the same command to go on"
    )
    run_comparison(source, ["leml"], [8], tmp_path / "out", **settings)
    assert list(read()) == ["pets/leml/warm-8/seed-0"]
