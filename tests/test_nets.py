"""The parts of nets that stand in for torch's own."""

import subprocess
import sys

import torch

from ramify.nets import MLP, AdamW


def test_adamw_is_that_of_torch():
    torch.manual_seed(0)
    nets = [MLP(6, 3, hidden=(5,)) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    ours = AdamW(list(nets[0].parameters()), lr=3e-3, weight_decay=0.02)
    theirs = torch.optim.AdamW(nets[1].parameters(), lr=3e-3, weight_decay=0.02, fused=True)
    for _ in range(30):
        x = torch.randn(8, 6)
        for net, optimiser in ((nets[0], ours), (nets[1], theirs)):
            theirs.zero_grad()
            net(x).square().mean().backward()
            optimiser.step()
    for own, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(own, other)


def test_a_coarse_stage_does_not_load_torch_s_compiler():
    """It takes two seconds, in every process that trains."""
    code = """
import sys
from ramify.checks.data import data
from ramify.learners import Refine
Refine(hidden=(8,), steps=5).fit(*data())
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
