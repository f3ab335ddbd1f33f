"""Commands that look at data sets and repeat the paper's experiments on them."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ramify.cli.base import EXPERIMENTS, app
from ramify.cli.options import Engine
from ramify.cli.progress import progress
from ramify.errors import RamifyError

Source = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="An .npz bundle, a folder, a table, a file of another tool (docs/formats), or 'scenes'."
    ),
]
TaxonomyFile = Annotated[
    Path | None, typer.Option("--taxonomy", help="A file of concepts, instead of the data's own.", show_default=False)
]
FeatureFile = Annotated[
    str | None,
    typer.Option(
        "--features", help="An .npy file with a row for each item, from ramify embed; or shards.", show_default=False
    ),
]
Track = Annotated[
    str | None,
    typer.Option(help="Write results to tensorboard:DIR or mlflow:URI too, as they arrive.", show_default=False),
]

NotExhaustive = Annotated[bool, typer.Option("--not-exhaustive", help="The paper's own deduction.")]
ExactWeights = Annotated[
    bool, typer.Option("--exact-weights", help="The paper's own weights: every known entry counts alike (M / N).")
]


@app.command(rich_help_panel=EXPERIMENTS)
def inspect(
    path: Source,
    taxonomy: TaxonomyFile = None,
    features: FeatureFile = None,
    not_exhaustive: Annotated[
        bool, typer.Option("--not-exhaustive", help="Read the data as the paper does: deduce only what is irrelevant.")
    ] = False,
) -> None:
    """Show what a data set, or a taxonomy file, holds: items, features, concepts with counts, and what is known."""
    from ramify.readers.formats import format_of

    console = Console()
    if Path(path).suffix in (".yaml", ".yml", ".xml") or (Path(path).suffix == ".json" and format_of(path) is None):
        from ramify.taxonomy import Taxonomy

        console.print(Text(str(Taxonomy.load(path))))
        return
    from ramify.experiments.overview import overview
    from ramify.readers import read_told

    data, notes = read_told(path, exhaustive=not not_exhaustive, taxonomy=taxonomy, features=features)
    console.print(overview(data, path), crop=False)
    for note in notes:
        console.print(Text(f"Note: {note}."), soft_wrap=True)


@app.command(rich_help_panel=EXPERIMENTS)
def compare(
    path: Source,
    learners: Annotated[str, typer.Option(help="Names, separated by commas.")] = (
        "fully-supervised,leml,one-class,pseudo-label,coarse-prior,factored,noisy-or,refine,all-labels"
    ),
    ratios: Annotated[str, typer.Option(help="Sizes of the warm set as log2(M / (M + N)).")] = "-10,-9,-8,-7,-6",
    warm: Annotated[str | None, typer.Option(help="Sizes of the warm set as numbers, instead of ratios.")] = None,
    seeds: Annotated[int, typer.Option(help="How many draws of the warm set.")] = 10,
    epochs: Annotated[int | None, typer.Option(help="Epochs of net-trained learners, not their own.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results are kept and found again; also figures.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    engine: Engine = "processes",
    tune: Annotated[
        int, typer.Option(help="Trials of each learner's settings on the validation part; 0 takes their own.")
    ] = 0,
    not_exhaustive: NotExhaustive = False,
    exact_weights: ExactWeights = False,
    taxonomy: TaxonomyFile = None,
    features: FeatureFile = None,
    track: Track = None,
) -> None:
    """Train learners over warm-set sizes and seeds, and print the paper's Table 1/2 for this data set."""
    from ramify.experiments.compare import summary
    from ramify.experiments.runs import run_comparison
    from ramify.experiments.tables import as_rich

    sizes = _numbers(warm if warm is not None else ratios, "--warm" if warm is not None else "--ratios")
    out = out or Path("ramify-compare", Path(path).stem)
    with progress(f"what was finished is kept in {out}") as shown:
        done = run_comparison(
            path,
            _names(learners),
            sizes,
            out,
            by_ratio=warm is None,
            seeds=seeds,
            epochs=epochs,
            exhaustive=not not_exhaustive,
            exact_weights=exact_weights,
            tune=tune,
            taxonomy=taxonomy,
            features=features,
            how=engine,
            json_file=json_file,
            track=track,
            trials=lambda finished, total: shown("trials", finished, total),
            report=lambda results, total: shown("cells", len(results), total, above=as_rich(summary(results), path)),
        )
    Console().print(as_rich(done.summary, path))
    print(f"The table is in {done.table}, {len(done.figures)} figures are beside it.")


@app.command(rich_help_panel=EXPERIMENTS)
def simulate(
    path: Source,
    strategies: Annotated[str, typer.Option(help="Names, separated by commas; random is always among them.")] = (
        "random,uncertainty,look-ahead,random-items,expected-gain"
    ),
    learner: Annotated[str, typer.Option(help="Who learns from the answers.")] = "refine",
    ratio: Annotated[
        float | None, typer.Option(help="Size of the warm set as log2(M / (M + N)).", show_default="-6")
    ] = None,
    warm: Annotated[int | None, typer.Option(help="Size of the warm set as a number, instead of a ratio.")] = None,
    batch: Annotated[int, typer.Option(help="Questions asked in a round.")] = 100,
    rounds: Annotated[int, typer.Option(help="How often questions are asked.")] = 30,
    seeds: Annotated[int, typer.Option(help="How many draws of the warm set.")] = 5,
    items: Annotated[
        int | None, typer.Option(help="So many random items of the data, others for each seed.", show_default="all")
    ] = None,
    pace: Annotated[
        str, typer.Option(help="Seconds for a screen, for each item on it, and for each concept on it.")
    ] = "1.5,2,0.5",
    engine: Engine = "processes",
    out: Annotated[Path | None, typer.Option(help="Where rounds are kept and found again; also figures.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the rounds that --out holds.")] = False,
    not_exhaustive: NotExhaustive = False,
    exact_weights: ExactWeights = False,
    taxonomy: TaxonomyFile = None,
    features: FeatureFile = None,
    track: Track = None,
) -> None:
    """Let strategies ask a simulated annotator: the paper's Table 3, and when the pool's labels are good enough."""
    from ramify.experiments.finishing import as_rich
    from ramify.experiments.runs import run_simulation
    from ramify.experiments.tables import TIMES, progression_as_rich
    from ramify.pace import Pace

    seconds = _numbers(pace, "--pace")
    if len(seconds) != 3:
        raise RamifyError(f"--pace takes three numbers, for a screen, an item and a concept, not {pace!r}")
    if ratio is not None and warm is not None:
        raise RamifyError("give the size of the warm set either as --ratio or as --warm, not both")
    out = out or Path("ramify-simulate", Path(path).stem)
    again = "the same command" if resume else "the same command with --resume"
    with progress(f"all finished rounds are kept in {out}", again) as shown:
        done = run_simulation(
            path,
            _names(strategies),
            out,
            learner=learner,
            ratio=-6 if ratio is None and warm is None else ratio,
            warm=warm,
            batch=batch,
            rounds=rounds,
            seeds=seeds,
            exhaustive=not not_exhaustive,
            exact_weights=exact_weights,
            taxonomy=taxonomy,
            features=features,
            items=items,
            pace=Pace(*seconds),
            resume=resume,
            how=engine,
            json_file=json_file,
            track=track,
            report=lambda finished, total: shown("rounds", finished, total),
        )
    console = Console()
    console.print(progression_as_rich(done.summary, f"{path}, {learner}, {done.plan.warm} warm items"))
    console.print(Text(TIMES, style="dim"))
    for sentence in done.sentences:
        console.print(Text(f"{sentence}."))
    console.print(Text("Seconds until the pool's labels reach an F1:"))
    console.print(as_rich(done.finishing))
    print(f"The figures are in {out}, the tables in {done.table}.")


@app.command(rich_help_panel=EXPERIMENTS)
def reproduce(
    path: Source,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke run of minutes: less of everything not given.")
    ] = False,
    printed: Annotated[
        str | None, typer.Option(help="The data are the paper's: show its numbers of coco or mirflickr beside.")
    ] = None,
    learners: Annotated[str | None, typer.Option(help="Of the table.", show_default="all")] = None,
    ratios: Annotated[
        str | None,
        typer.Option(help="Sizes of the warm set as log2(M / (M + N)).", show_default="-10,-9,-8,-7,-6"),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Runs of everything.", show_default="10")] = None,
    tune: Annotated[
        int | None, typer.Option(help="Trials of each learner's settings; 0 takes their own.", show_default="20")
    ] = None,
    strategies: Annotated[str | None, typer.Option(help="Of Table 3.", show_default="all")] = None,
    batch: Annotated[int | None, typer.Option(help="Questions in a round.", show_default="the paper's")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of asking.", show_default="30")] = None,
    curve_epochs: Annotated[int | None, typer.Option(help="Epochs of learning curves.", show_default="30")] = None,
    settings: Annotated[str, typer.Option(help="ours, paper, or both.")] = "ours,paper",
    out: Annotated[Path | None, typer.Option(help="Where everything is kept and found again; also the report.")] = None,
    engine: Engine = "processes",
    taxonomy: TaxonomyFile = None,
    features: FeatureFile = None,
    track: Track = None,
) -> None:
    """Repeat all experiments of the paper on a data set: tables, figures, claims, one report."""
    import shlex
    import sys

    from ramify.experiments.runs import run_reproduction

    out = out or Path("ramify-reproduce", Path(path).stem)
    console = Console()
    with progress(f"what was finished is kept in {out}, with a report once a table or a figure has results") as shown:
        done = run_reproduction(
            path,
            out,
            quick=quick,
            printed=printed,
            learners=_names(learners) if learners else None,
            ratios=_numbers(ratios, "--ratios") if ratios else None,
            seeds=seeds,
            trials=tune,
            strategies=_names(strategies) if strategies else None,
            batch=batch,
            rounds=rounds,
            curve_epochs=curve_epochs,
            settings=_names(settings),
            taxonomy=taxonomy,
            features=features,
            how=engine,
            track=track,
            command=shlex.join(["ramify", *sys.argv[1:]]),
            say=lambda sentence: console.print(Text(sentence), soft_wrap=True),
            report=shown,
        )
    print(f"The report is {done[0]}; beside it are {', '.join(file.name for file in done[1:])}.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str, option: str) -> list[float]:
    try:
        numbers = [float(number) for number in text.split(",") if number.strip()]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise RamifyError(f"{option} takes numbers separated by commas, not {text!r}")
    return numbers
