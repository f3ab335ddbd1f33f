"""Loop: ask, answer, record with deduction, learn; the same for a simulated and a human oracle."""

from ramify.loop.active import ActiveLoop
from ramify.loop.oracles import Oracle, Question, Truth

__all__ = ["ActiveLoop", "Oracle", "Question", "Truth"]
