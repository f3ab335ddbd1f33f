"""Guidelines: what people who answer should know, in a file that whoever serves the project writes."""

import itertools
from pathlib import Path

from ramify.project.store.backup import GUIDELINES

MOST = 100_000  # characters that are shown


def read_guidelines(folder: Path, name: str) -> dict[str, str]:
    """Title, first paragraph and text of the guidelines; without a file the title is the name.

    >>> read_guidelines(Path("nowhere"), "pets")
    {'title': 'pets', 'about': '', 'guidelines': ''}
    """
    try:
        text = (folder / GUIDELINES).read_text(encoding="utf-8", errors="replace")[:MOST]
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), name)
    first = itertools.dropwhile(lambda line: not line or line.startswith(("#", "-", "*")), lines)
    about = " ".join(itertools.takewhile(lambda line: line and not line.startswith(("#", "-", "*")), first))
    return {"title": title, "about": about, "guidelines": text}
