"""The embedded demo: pictures drawn on the spot (icons, scenes), with the labels that they were drawn by."""
