"""CPU time of one pseudo-label gradient, relative to one plain supervised forward and backward pass.

2048-512-512-80 MLP, batch 256, warm batch 256 and 64, no optimiser anywhere. In training the batch's forward pass is at
hand, as the update needs it too. `higher` and `torchopt` do the same where they are installed.

Run: python benchmarks/meta_step.py
"""

from functools import partial

import torch
from measure import Row, by_turns, figure, missing, run

from ramify.meta import bce, pseudo_label_gradient
from ramify.nets import MLP

ROUNDS, BATCH, ALPHA = 40, 256, 0.1
PLAIN = "plain"


def plain(net, x, y):
    bce(net(x), y).backward()
    net.zero_grad()


def with_higher(net, x, y, x_warm, y_warm, alpha):
    import higher

    labels = y.clone().requires_grad_()
    optimiser = torch.optim.SGD(net.parameters(), lr=alpha)
    with higher.innerloop_ctx(net, optimiser) as (inner, step):
        step.step(bce(inner(x), labels))
        return torch.autograd.grad(bce(inner(x_warm), y_warm), labels)[0]


def with_torchopt(net, x, y, x_warm, y_warm, alpha):
    import torchopt

    labels = y.clone().requires_grad_()
    state = torchopt.extract_state_dict(net)
    torchopt.MetaSGD(net, lr=alpha).step(bce(net(x), labels))
    found = torch.autograd.grad(bce(net(x_warm), y_warm), labels)[0]
    torchopt.recover_state_dict(net, state)
    return found


def measure() -> list[Row]:
    torch.manual_seed(0)
    net = MLP(2048, 80)
    x, y = torch.randn(BATCH, 2048), torch.rand(BATCH, 80)
    peers = {"higher": with_higher, "torchopt": with_torchopt}
    gone = missing(*peers)
    rows = [Row(what=name, note="not installed") for name in gone]
    for warm, most in ((256, 1.5), (64, 1.0)):
        data = (net, x, y, torch.randn(warm, 2048), (torch.rand(warm, 80) < 0.1).float(), ALPHA)
        ways = {f"ramify, {method}": partial(pseudo_label_gradient, *data, method) for method in ("gram", "jvp")}
        ways["ramify, double backward"] = partial(pseudo_label_gradient, *data, "double-backward")
        ways |= {name: partial(way, *data) for name, way in peers.items() if name not in " ".join(gone)}
        reference = pseudo_label_gradient(*data, method="double-backward")
        for name, way in ways.items():
            assert (way() - reference).abs().max() < 1e-4 * reference.abs().max(), name
        with torch.no_grad():
            seen = net.activations(x)
        in_training = partial(pseudo_label_gradient, *data, "gram", seen)
        taken = by_turns({PLAIN: partial(plain, net, x, y), "in training": in_training, **ways}, ROUNDS)
        ratios = {name: seconds / taken[PLAIN] for name, seconds in taken.items()}
        rows.append(figure(f"warm batch {warm}: gram, its forward pass at hand as in training", ratios["in training"]))
        rows.append(figure(f"warm batch {warm}: gram, alone", ratios["ramify, gram"], most=most))
        rows += [figure(f"warm batch {warm}: {name}", ratios[name]) for name in [*ways][1:]]
    return rows


if __name__ == "__main__":
    run(measure)
