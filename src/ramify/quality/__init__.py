"""How good the labels of all items are, answered and predicted: from questions drawn at random (the audit)."""

FEWEST = 30  # answered draws from which a figure is shown: fewer look like a trend and are none
