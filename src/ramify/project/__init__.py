"""Project: a folder with items, labels, answers and models that loses nothing."""
