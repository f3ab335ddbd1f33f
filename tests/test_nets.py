"""The parts of nets that stand in for torch's own."""

import subprocess
import sys
from functools import partial

import pytest
import torch

from ramify.nets import MLP, SGD, AdamW


@pytest.mark.parametrize(
    ("own", "torchs"),
    [
        (partial(AdamW, weight_decay=0.02), partial(torch.optim.AdamW, weight_decay=0.02, fused=True)),
        (AdamW, partial(torch.optim.Adam, fused=True)),
        (SGD, torch.optim.SGD),
    ],
)
def test_optimisers_are_those_of_torch_also_when_they_go_on(own, torchs):
    torch.manual_seed(0)
    nets = [MLP(6, 3, hidden=(5,)) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    for net in nets:
        net.unused = torch.nn.Parameter(torch.ones(2))  # without a gradient
    ours, theirs = own(nets[0].parameters(), lr=3e-3), torchs(nets[1].parameters(), lr=3e-3)
    for step in range(30):
        if step == 15:
            kept, ours = ours.state(), own(nets[0].parameters(), lr=3e-3)
            ours.restore(kept)
        x = torch.randn(8, 6)
        for net, optimiser in ((nets[0], ours), (nets[1], theirs)):
            net.zero_grad()
            net(x).square().mean().backward()
            optimiser.step()
    for own, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(own, other)


def test_training_does_not_load_torch_s_compiler():
    """It takes two seconds, in every process that trains."""
    code = """
import sys
from ramify.checks.data import data
from ramify.learners import PseudoLabel, Refine
Refine(hidden=(8,), steps=5).fit(*data())
PseudoLabel(hidden=(8,), epochs=1).fit(*data())
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
