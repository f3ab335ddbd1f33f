"""What other people's code may rely on: it changes on purpose, with a word in the CHANGELOG, never by accident.

``python tests/test_public.py > tests/data/public.txt`` writes down what it is now.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import ramify
from ramify.learners import LEARNERS
from ramify.learners.base import Learner
from ramify.notebook import Concepts
from ramify.parameters import Parameters
from ramify.strategies import STRATEGIES
from ramify.strategies.base import Strategy

LIST = Path(__file__).parent / "data" / "public.txt"


def public() -> Iterator[str]:
    """Every public name with its parameters, and the methods of classes, each where it is defined."""
    things = {name: getattr(ramify, name) for name in ramify.__all__}
    shared = {"Learner": Learner, "Strategy": Strategy, "Parameters": Parameters, "Project.taxonomy": Concepts}
    for name, thing in sorted({**things, **shared}.items()):
        yield name + parameters(thing)
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            if method.startswith("_"):
                continue
            if isinstance(value, property | cached_property):
                yield f"{name}.{method}"
            elif callable(value := getattr(value, "__func__", value)):
                yield f"{name}.{method}{parameters(value)}"


def parameters(thing: object) -> str:
    """Their names, and which of them need not be given."""
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return ""
    given = [
        f"{parameter.name}=..." if parameter.default is not parameter.empty else parameter.name
        for parameter in inspect.signature(thing).parameters.values()
    ]
    return f"({', '.join(given)})"


def test_the_public_names_are_as_written_down():
    now, then = list(public()), LIST.read_text(encoding="utf-8").splitlines()
    gone, new = sorted(set(then) - set(now)), sorted(set(now) - set(then))
    assert not gone, f"other people's code may use these: {gone}; see CONTRIBUTING, 'What may change'"
    assert not new, f"write down what is new: python tests/test_public.py > {LIST.name}: {new}"


def test_every_learner_and_strategy_has_a_public_name_that_is_documented():
    pages = "".join(page.read_text(encoding="utf-8") for page in (LIST.parents[2] / "docs" / "api").iterdir())
    for thing in (*LEARNERS.values(), *STRATEGIES.values()):
        assert getattr(ramify, thing.__name__) is thing
        assert thing.__name__ in ramify.__all__
        assert re.search(rf"^::: ramify\.{thing.__name__}$", pages, re.M), thing


if __name__ == "__main__":
    print("\n".join(public()))
