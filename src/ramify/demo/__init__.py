"""The embedded demo: pictures drawn on the spot, with the labels that they were drawn by."""
