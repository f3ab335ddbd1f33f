"""Examples in docstrings stand there as doctests; the site shows them as code, not as Markdown's quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(>>> .*(?:\n(?!\n).*)*)", re.MULTILINE)  # up to the next empty line


class Doctests(griffe.Extension):
    """Put every example between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Once for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)
