"""A server that starts again at once: ``python serve_process.py FOLDER PORT`` starts one for each line it reads.

Each server is forked from this process, which has already imported everything. It says the number of its process.
"""

import os
import signal
import sys

from ramify.project.live.service import Service  # noqa: F401  (so that a forked server need not import it)
from ramify.web import serve


def main(folder: str, port: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # servers that are killed leave nothing behind
    for _ in sys.stdin:
        if not (child := os.fork()):
            try:
                serve(folder, port=port)
            finally:  # it was killed, or it could not start, and then nobody must wait for it
                os.kill(os.getppid(), signal.SIGTERM)
                os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
