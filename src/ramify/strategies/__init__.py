"""Strategies: which (item, fine concept) questions to ask next."""

from ramify.strategies.base import Query, Strategy
from ramify.strategies.expected_gain import ExpectedGain
from ramify.strategies.look_ahead import LookAhead
from ramify.strategies.random import Random, RandomItems
from ramify.strategies.uncertainty import Uncertainty

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Random, Uncertainty, LookAhead, RandomItems, ExpectedGain)
}

__all__ = ["STRATEGIES", "ExpectedGain", "LookAhead", "Query", "Random", "RandomItems", "Strategy", "Uncertainty"]
