"""The version of Ramify."""

__version__ = "0.1.0"
