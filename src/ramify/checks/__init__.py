"""Checks that learners and strategies of any author can be put through, each small and named.

Parametrise your tests by them, or run all at once:

>>> from ramify import CoarsePrior, Random
>>> check_learner(CoarsePrior(steps=5, hidden=(4, 4), random_state=0))
>>> check_strategy(Random(), CoarsePrior(steps=5, hidden=(4, 4), random_state=0))
"""

from ramify.checks.learners import LEARNER_CHECKS, check_learner
from ramify.checks.strategies import STRATEGY_CHECKS, check_strategy

__all__ = ["LEARNER_CHECKS", "STRATEGY_CHECKS", "check_learner", "check_strategy"]
