"""The annotation page and its HTTP API, on top of one ``Service``."""

from ramify.web.app import create_app, serve

__all__ = ["create_app", "serve"]
