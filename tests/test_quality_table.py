"""What ``ramify quality`` prints: figures of a concept only where enough audit answers speak for them."""

import io

from rich.console import Console

from ramify.cli.status import show_quality
from ramify.project.live.shapes import Advised, Bounds, ConceptFigures, Figures, Quality


def test_a_few_audit_answers_make_no_figure():
    share = Bounds(value=0.9, low=0.8, high=1.0)
    figures = {"precision": share, "recall": share, "f1": share, "settled": 0.5}
    concepts = [
        ConceptFigures(concept=n, path=path, agreement=agreement, draws=draws, **figures)
        for n, (path, draws, agreement) in enumerate([("cat", 30, None), ("dog", 29, None), ("pear", 1, 0.4)])
    ]
    advice = Advised(kind="early", said="It is too early to say.", gain=None, minutes=30)
    every = Figures(draws=60, **figures)
    out = io.StringIO()
    show_quality(
        Console(file=out, width=120),
        Quality(at=0.0, answers=99, all=every, concepts=concepts, seconds=1.0, advice=advice),
    )
    lines = [line.split() for line in out.getvalue().splitlines()]
    figure = ["0.90", "(0.80", "to", "1.00)"]
    assert ["cat", *figure * 3, "30"] in lines
    assert ["pear", "-", "-", "-", "1", "0.40"] in lines
    assert "dog" not in out.getvalue()
    assert out.getvalue().endswith("Left out: figures of 2 of 3 concepts, with fewer than 30 audit answers.\n")
