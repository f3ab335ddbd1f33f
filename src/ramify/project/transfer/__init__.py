"""Files in and out of a project."""
