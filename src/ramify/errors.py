"""The one error that Ramify raises for a mistake the user can mend."""


class RamifyError(ValueError):
    """Something a user can mend: the message says what is wrong, where, and what to do.

    >>> raise RamifyError("the taxonomy is empty: give at least one concept")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: the taxonomy is empty: give at least one concept
    """
