"""The labels of the pool in a simulation: their F1, what is settled, the seconds; when targets are reached."""

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score

from quick_learner import QuickRefine
from ramify.data import Dataset, benchmark
from ramify.data.bundle import known_labels
from ramify.errors import RamifyError
from ramify.experiments import finishing, simulate, tables
from ramify.loop import ActiveLoop, Truth
from ramify.pace import Pace
from ramify.strategies import ExpectedGain, Random
from ramify.taxonomy import Taxonomy
from test_cli import run_in_process

TAXONOMY = Taxonomy(
    {"animal": {"exhaustive": True, "cat": None, "dog": None, "cow": None}, "food": ["apple", "pear", "plum"]}
)


@pytest.fixture(scope="module")
def data():
    """200 items whose features say something of their labels."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 8))
    truth = (features[:, :6] + rng.normal(size=(200, 6)) > 0.9).astype(int)
    return Dataset(known_labels(TAXONOMY, truth), features)


@pytest.fixture(scope="module", params=[Random, ExpectedGain])
def loop(request, data):
    drawn = benchmark(data, warm=10)
    return drawn, ActiveLoop(
        drawn.train,
        QuickRefine(random_state=0),
        request.param(random_state=0),
        Truth(drawn.answers),
        batch_size=40,
        truth=drawn.answers,
    ).run(rounds=3)


def test_f1_of_the_pool_is_that_of_labels_put_together_by_hand(loop):
    """Answers where there are any; else what follows from coarse labels; else the model's opinion, child by child."""
    drawn, done = loop
    learner, labels, pool = done.learner, done.labels, drawn.pool
    p = learner.opinions(drawn.train.features[pool], labels.take(pool))
    truth, coarse = drawn.answers.states(pool), drawn.answers.states(pool, TAXONOMY.roots)
    chosen, answers = (
        np.zeros(truth.shape, int),
        {e: v for given in done.journal.answers.values() for e, v in given.items()},
    )
    for row, item in enumerate(pool):
        for place, root in enumerate(TAXONOMY.roots):
            children = TAXONOMY.children(root).tolist()
            if not coarse[row, place]:
                continue
            open_ = [child for child in children if (item, child) not in answers]
            yes = [child for child in children if answers.get((item, child)) == 1]
            yes += [child for child in open_ if p[row, child] > 0.5]
            last = root == TAXONOMY.index("animal") and not yes
            if last and open_:  # there must be one: the most probable
                yes = [max(open_, key=lambda child, row=row: p[row, child])]
            chosen[row, yes] = 1
    assert done.curve_[-1]["pool_f1"] == pytest.approx(f1_score(truth, chosen, average="micro"), abs=1e-6)
    assert done.curve_[-1]["pool_f1"] > done.curve_[0]["pool_f1"]


def test_what_is_settled_by_hand(loop):
    drawn, done = loop
    entries = settled = sure = right = 0
    p = done.learner.opinions(drawn.train.features, done.labels)
    for item in drawn.pool.tolist():
        before, now = (labels.states(item)[0] for labels in (drawn.train.labels, done.labels))
        truth = drawn.answers.states(item)[0]
        for fine in np.flatnonzero(before == -1):
            entries += 1
            if now[fine] != -1:
                settled += 1
            elif (confident := max(p[item, fine], 1 - p[item, fine])) >= 0.95:
                settled, sure = settled + 1, sure + 1
                right += truth[fine] == (p[item, fine] >= 0.95)
                assert confident >= 0.95
    row = done.curve_[-1]
    assert row["settled_share"] == pytest.approx(settled / entries)
    assert row["settled_right"] == (pytest.approx(right / sure) if sure else None)


def test_warm_items_are_not_of_the_pool(data):
    """With all but three items known at first, the pool is these three."""
    drawn = benchmark(data, warm=len(benchmark(data, warm=1).train) - 3)
    parts = QuickRefine(random_state=0), Random(random_state=0), Truth(drawn.answers)
    done = ActiveLoop(drawn.train, *parts, batch_size=100, truth=drawn.answers).run(rounds=1)
    assert done.curve_[0]["settled_share"] < 1
    assert (done.curve_[1]["pool_f1"], done.curve_[1]["settled_share"]) == (1, 1)


def test_another_truth_is_refused(data):
    drawn = benchmark(data, warm=5)
    with pytest.raises(RamifyError, match="the truth is of other items or concepts than the data"):
        ActiveLoop(drawn.train, QuickRefine(), Random(), Truth(drawn.answers), truth=drawn.test.labels)


# -- simulate ----------------------------------------------------------------------------------------------------------


def test_seconds_follow_from_the_questions_on_disk_and_from_the_pace(data, tmp_path):
    data.save(tmp_path / "data")
    settings = {"learner": "quick_learner:QuickRefine", "warm": 10, "batch": 30, "rounds": 3, "seeds": 1}

    def run(pace):
        planned = simulate.plan(str(tmp_path / "data"), ["random-items"], **settings, pace=pace)
        results = simulate.simulate(planned, tmp_path / "out", how="serial", resume=True)
        return simulate.rows(results)

    rows, slower = run(Pace(1, 2, 3)), run(Pace(2, 4, 6))
    for strategy in ("random", "random-items"):
        seconds, expected = 0.0, [0.0]
        for line in (tmp_path / "out" / "runs" / f"{strategy}-0" / "answers.jsonl").read_text().splitlines():
            asked = json.loads(line).get("ask", [])
            for root in TAXONOMY.roots if asked else []:
                own = [(item, concept) for item, concept in asked if concept in TAXONOMY.children(root)]
                by_item = sum(1 + 2 + 3 * sum(i == item for i, _ in own) for item in {item for item, _ in own})
                sizes = [sum(c == concept for _, c in own) for concept in {concept for _, concept in own}]
                seconds += min(by_item, sum(-(-size // 12) * 4 + 2 * size for size in sizes))
            expected += [seconds] if asked else []
        assert [row["seconds"] for row in rows if row["strategy"] == strategy] == pytest.approx(expected)
    assert [row["seconds"] for row in slower] == pytest.approx([2 * row["seconds"] for row in rows])
    assert [{**row, "seconds": 0} for row in slower] == [{**row, "seconds": 0} for row in rows]


def test_some_items_of_the_data_others_for_each_seed(data, tmp_path):
    data.save(tmp_path / "data")
    options = ["--warm", "4", "--batch", "20", "--rounds", "1", "--seeds", "2", "--items", "60", "--engine", "serial"]
    written = tmp_path / "r.json"
    result = run_in_process(
        *("simulate", str(tmp_path / "data"), "--strategies", "random", "--learner", "quick_learner:QuickRefine"),
        *(*options, "--pace", "1,1,1", "--out", str(tmp_path / "out"), "--json", str(written)),
    )
    assert result.exit_code == 0, result.output
    assert "Seconds until the pool's labels reach an F1:" in result.output
    found = json.loads(written.read_text())
    assert (found["items"], found["pace"]) == (60, {"screen": 1, "item": 1, "concept": 1})
    assert {(row["target"], row["strategy"]) for row in found["finishing"]} == {(0.8, "random"), (0.9, "random")}
    first, second = ((tmp_path / "out" / "runs" / f"random-{seed}" / "loop.json").read_text() for seed in (0, 1))
    assert json.loads(first)["truth"] != json.loads(second)["truth"]
    assert (tmp_path / "out" / "pool_f1.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "201"], "201 items cannot be drawn from 200: give a number from 1 to 200"),
        (["--pace", "1,2"], "--pace takes three numbers, for a screen, an item and a concept, not '1,2'"),
        (["--pace", "1,2,-3"], "the seconds for each concept are a number from 0 on, not -3.0"),
    ],
)
def test_refused_options(data, tmp_path, arguments, message):
    data.save(tmp_path / "data")
    result = run_in_process("simulate", str(tmp_path / "data"), "--warm", "4", *arguments)
    assert isinstance(result.exception, RamifyError)
    assert message in str(result.exception)


# -- when targets are reached ------------------------------------------------------------------------------------------


def curve(strategy, seed, heights, step=100.0):
    return [
        {"strategy": strategy, "seed": seed, "answers": 10 * n, "item_views": n, "seconds": step * n, "pool_f1": height}
        for n, height in enumerate(heights)
    ]


def test_targets_by_hand():
    rows = curve("random", 0, [0.7, 0.9, 1.0]) + curve("random", 1, [0.5, 0.7, 0.9])
    rows += curve("quick", 0, [0.75, 0.85, 0.95], step=10) + curve("quick", 1, [0.9, 0.9, 0.9], step=10)
    rows += curve("poor", 0, [0.7, 0.8, 0.8]) + curve("poor", 1, [None, 0.7, 0.7])
    found = {(row["strategy"], row["target"]): row for row in finishing.reached(rows)}
    assert found["random", 0.8]["seconds"] == pytest.approx((50 + 150) / 2)
    assert found["random", 0.8]["seconds_std"] == pytest.approx(np.std([50, 150], ddof=1))
    assert found["random", 0.9]["answers"] == pytest.approx((10 + 20) / 2)
    assert found["quick", 0.8]["sooner"] == pytest.approx(100 / 2.5)
    assert found["quick", 0.9]["item_views"] == pytest.approx(1.5 / 2)
    assert (found["poor", 0.8]["reached"], found["poor", 0.8]["seconds"]) == (1, pytest.approx(100))
    assert found["poor", 0.8]["sooner"] is found["poor", 0.9]["seconds"] is None
    header, lines = finishing.as_table(list(found.values()))
    assert header[:5] == ["strategy", "seconds to 0.8", "answers to 0.8", "item views to 0.8", "× sooner to 0.8"]
    assert lines[1][:2] == ["quick", "**3 ± 4**"]
    assert lines[2] == ["poor", "100 (1 of 2)", "10 (1 of 2)", "1 (1 of 2)", "-", "-", "-", "-", "-"]
    assert tables.as_markdown(header, lines) in finishing.as_markdown(list(found.values()))
    assert finishing.as_markdown([row for row in found.values() if not row["reached"]]) == []


def test_the_figure_shows_every_strategy_by_each_cost():
    rows = curve("random", 0, [0.7, 0.9, 1.0]) + curve("finish", 0, [0.75, 0.85, 0.95], step=10)
    axes = finishing.pool_figure(rows).axes
    assert [plot.get_xlabel() for plot in axes] == ["seconds", "answers", "item views"]
    for plot, last in zip(axes, ([200, 20], [20, 20], [2, 2]), strict=True):
        lines = {line.get_label(): line for line in plot.get_lines()}
        assert [lines[name].get_xdata()[-1] for name in ("random", "finish")] == last
        assert lines["finish"].get_ydata().tolist() == [0.75, 0.85, 0.95]
