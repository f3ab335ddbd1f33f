"""The pseudo-label gradient: three implementations and finite differences agree."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call

from ramify.meta import bce, pseudo_label_gradient
from ramify.nets import MLP


def warm_loss_after_step(net, x, y, x_warm, y_warm, alpha) -> float:
    """V(theta') by taking the virtual step for real."""
    theta = dict(net.named_parameters())
    gradients = torch.autograd.grad(bce(net(x), y), list(theta.values()))
    stepped = {name: value - alpha * g for (name, value), g in zip(theta.items(), gradients, strict=True)}
    return float(bce(functional_call(net, stepped, (x_warm,)), y_warm).detach())


def draw(seed: int, n_inputs: int, n_outputs: int, batch: int, warm: int):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, n_inputs, generator=generator, dtype=torch.float64)
    x_warm = torch.randn(warm, n_inputs, generator=generator, dtype=torch.float64)
    y = torch.rand(batch, n_outputs, generator=generator, dtype=torch.float64)
    y_warm = torch.randint(0, 2, (warm, n_outputs), generator=generator).double()
    return x, y, x_warm, y_warm


class Custom(nn.Module):
    """Not an MLP: a smooth activation, a normalisation and a skip connection."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(n_inputs, n_inputs), nn.LayerNorm(n_inputs)
        self.last = nn.Linear(n_inputs, n_outputs)

    def forward(self, x):
        return self.last(x + torch.tanh(self.norm(self.first(x))))


def check(net, data, alpha, methods):
    expected = pseudo_label_gradient(net, *data, alpha, method="double-backward")
    scale = expected.abs().max()
    for method in methods:
        found = pseudo_label_gradient(net, *data, alpha, method=method)
        assert found.shape == expected.shape
        assert (found - expected).abs().max() <= 1e-10 * scale
    return expected


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_inputs=st.integers(1, 9),
    hidden=st.lists(st.integers(1, 9), max_size=3),
    n_outputs=st.integers(1, 6),
    batch=st.integers(1, 7),
    warm=st.integers(1, 7),
    alpha=st.floats(0.01, 2),
)
def test_all_implementations_agree_on_any_mlp(seed, n_inputs, hidden, n_outputs, batch, warm, alpha):
    torch.manual_seed(seed)
    net = MLP(n_inputs, n_outputs, hidden).double()
    x, _, x_warm, _ = data = draw(seed, n_inputs, n_outputs, batch, warm)
    expected = check(net, data, alpha, ["gram", "jvp", "auto"])
    at_hand = {"activations": net.activations(torch.cat([x, x_warm])), "warm_first": net.layers[0](x_warm)}
    for names in (["activations"], ["warm_first"], list(at_hand)):  # what training has computed already
        found = pseudo_label_gradient(net, *data, alpha, **{name: at_hand[name] for name in names})
        assert (found - expected).abs().max() <= 1e-10 * expected.abs().max()


@pytest.mark.parametrize(("batch", "warm"), [(5, 4), (1, 3), (3, 1), (1, 1)])
@pytest.mark.parametrize("kind", ["mlp", "custom", "low rank"])
def test_finite_differences_agree(kind, batch, warm):
    torch.manual_seed(1)
    net = {"mlp": MLP(6, 4, (8, 7)), "custom": Custom(6, 4), "low rank": MLP(6, 4, (8,), rank=2)}[kind].double()
    data = draw(2, 6, 4, batch, warm)
    alpha, step = 0.3, 1e-5
    expected = check(net, data, alpha, ["gram", "jvp"] if kind == "mlp" else ["jvp", "auto"])
    x, y, x_warm, y_warm = data
    for n in range(batch):
        for k in range(4):
            losses = []
            for sign in (1, -1):
                moved = y.clone()
                moved[n, k] += sign * step
                losses.append(warm_loss_after_step(net, x, moved, x_warm, y_warm, alpha))
            difference = (losses[0] - losses[1]) / (2 * step)
            assert abs(difference - float(expected[n, k])) <= 1e-6 * max(1.0, float(expected.abs().max()))


def test_bce_is_that_of_torch():
    logits, labels = torch.randn(5, 3), torch.rand(5, 3)
    expected = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / 5
    assert torch.allclose(bce(logits, labels), expected)


def test_parameters_and_gradients_are_left_alone():
    net = MLP(4, 3, (5,))
    before = [value.clone() for value in net.parameters()]
    data = [part.float() for part in draw(0, 4, 3, 6, 5)]
    for method in ("gram", "jvp", "double-backward"):
        pseudo_label_gradient(net, *data, 0.1, method=method)
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
    assert all(value.grad is None for value in net.parameters())


class Squashed(MLP):
    """An MLP that computes something else with the same layers."""

    def forward(self, x):
        return torch.tanh(super().forward(x))


def test_a_subclass_of_the_mlp_gets_its_own_gradient():
    """The Gram form knows the MLP's own forward only, and gave wrong gradients for any other."""
    torch.manual_seed(0)
    net = Squashed(5, 3, (7,)).double().eval()
    x, y = torch.randn(6, 5).double(), torch.rand(6, 3).double()
    x_warm, y_warm = torch.randn(4, 5).double(), torch.rand(4, 3).double().round()
    found = pseudo_label_gradient(net, x, y, x_warm, y_warm, 0.5)
    expected = pseudo_label_gradient(net, x, y, x_warm, y_warm, 0.5, method="double-backward")
    assert torch.allclose(found, expected, atol=1e-12)
    wrong = pseudo_label_gradient(net, x, y, x_warm, y_warm, 0.5, method="gram")
    assert not torch.allclose(wrong, expected, atol=1e-4)
