"""Plugins: a learner or strategy by the name it is registered under, or one of a user's own as ``module:Class``."""

from collections.abc import Mapping
from importlib import import_module
from typing import TypeVar

from ramify.errors import RamifyError

Kind = TypeVar("Kind")


def by_name(what: str, name: str, known: Mapping[str, type[Kind]], base: type[Kind]) -> type[Kind]:
    """The class of that name; ``module:Class`` is imported.

    >>> by_name("number", "int", {"int": int, "bool": bool}, int)
    <class 'int'>
    >>> by_name("number", "enum:IntEnum", {"int": int}, int)
    <enum 'IntEnum'>
    >>> by_name("number", "fractions:Fraction", {"int": int}, int)
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: 'fractions:Fraction' is no number: name a subclass of int
    >>> by_name("number", "imt", {"int": int, "bool": bool}, int)
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: there is no number 'imt': choose among int, bool, or name your own as module:Class
    """
    if name in known:
        return known[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise RamifyError(
            f"there is no {what} {name!r}: choose among {', '.join(known)}, or name your own as module:Class"
        )
    try:
        plugin: type[Kind] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RamifyError(f"the {what} {name!r} cannot be loaded ({error}): check module and class") from None
    if not isinstance(plugin, type) or not issubclass(plugin, base):
        raise RamifyError(f"{name!r} is no {what}: name a subclass of {base.__name__}")
    return plugin
