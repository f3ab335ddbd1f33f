"""``python -m ramify``, and ``torchrun -m ramify``: the command line."""

from ramify.cli import main

if __name__ == "__main__":
    main()
