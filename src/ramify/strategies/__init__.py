"""Strategies: which (item, concept) questions to ask next."""

from ramify.plugins import by_name
from ramify.strategies.badge import BADGE
from ramify.strategies.base import Strategy
from ramify.strategies.epig import EPIG
from ramify.strategies.expected_gain import ExpectedGain
from ramify.strategies.finish import Finish
from ramify.strategies.look_ahead import LookAhead
from ramify.strategies.pool import Pool
from ramify.strategies.random import Random, RandomItems
from ramify.strategies.shortlist import Query, Shortlist
from ramify.strategies.typiclust import TypiClust
from ramify.strategies.uncertainty import Uncertainty

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (Random, Uncertainty, LookAhead, RandomItems, ExpectedGain, TypiClust, BADGE, EPIG, Finish)
}

__all__ = [
    "BADGE",
    "EPIG",
    "STRATEGIES",
    "ExpectedGain",
    "Finish",
    "LookAhead",
    "Pool",
    "Query",
    "Random",
    "RandomItems",
    "Shortlist",
    "Strategy",
    "TypiClust",
    "Uncertainty",
    "strategy_class",
]


def strategy_class(name: str) -> type[Strategy]:
    """The strategy that the command line calls so, or one of your own as ``module:Class``.

    >>> strategy_class("uncertainty").__name__
    'Uncertainty'
    """
    return by_name("strategy", name, STRATEGIES, Strategy)
