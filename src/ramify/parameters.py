"""Parameters as scikit-learn has them, without loading it: that took longer than all else a command needs but torch.

scikit-learn asks no estimator what it is, only for these methods, so that ``clone``, ``GridSearchCV`` and
``cross_val_score`` work all the same (``tests/test_model_selection.py``).
"""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Self, TypeVar

from ramify.errors import RamifyError

__all__ = ["Parameters", "clone"]


class Parameters:
    """What has parameters: the arguments that make it, kept under their names."""

    @classmethod
    def defaults(cls) -> Mapping[str, Any]:
        """Each parameter and its default, in the order of the alphabet.

        >>> class Net(Parameters):
        ...     def __init__(self, width=8):
        ...         self.width = width
        >>> Net.defaults()
        {'width': 8}
        """
        arguments = signature(cls).parameters
        return {name: arguments[name].default for name in sorted(arguments)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Each parameter as it is; ``deep`` is there for scikit-learn: no parameter has parameters of its own."""
        return {name: getattr(self, name) for name in self.defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change some parameters, or none where a name is wrong."""
        own = self.defaults()
        for name in parameters:
            if name not in own:
                raise RamifyError(f"{type(self).__name__} has no parameter {name!r}: it has {', '.join(own)}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        own, usual = self.get_params(), self.defaults()
        changed = (f"{name}={own[name]!r}" for name in own if repr(own[name]) != repr(usual[name]))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of an estimator before it searches or validates."""
        from sklearn.utils import InputTags, Tags, TargetTags  # only scikit-learn asks, so it is loaded

        return Tags(None, TargetTags(required=True), input_tags=InputTags(sparse=True))


Kind = TypeVar("Kind", bound=Parameters)


def clone(original: Kind) -> Kind:
    """Another one with the same parameters, which has learned nothing.

    >>> from ramify import Refine
    >>> clone(Refine(nets=2))
    Refine(nets=2)
    """
    return type(original)(**original.get_params())
