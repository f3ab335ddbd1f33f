"""The one error that Ramify raises for a mistake the user can mend."""


class RamifyError(ValueError):
    """Something a user can mend: the message says what is wrong, where, and what to do.

    >>> raise RamifyError("the taxonomy is empty: give at least one concept")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: the taxonomy is empty: give at least one concept
    """


def first_line(error: BaseException) -> str:
    """What an error of somebody else says first.

    >>> first_line(OSError("no such place.\\nAt all.")), first_line(KeyError())
    ('no such place', 'KeyError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
