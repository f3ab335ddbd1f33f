"""How good the labels of all items are, answered and predicted: from questions drawn at random (the audit)."""
