"""CPU time of one pseudo-label gradient, relative to one plain supervised forward and backward pass.

2048-512-512-80 MLP, batch 256, warm batch 256 and 64, one thread, no optimiser anywhere. `higher` and `torchopt`
do the same where they are installed (pip install higher torchopt).

Run: python benchmarks/meta_step.py
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable

import torch

from ramify.meta import bce, pseudo_label_gradient
from ramify.nets import MLP

ROUNDS, BATCH, ALPHA = 40, 256, 0.1


def plain(net: MLP, x: torch.Tensor, y: torch.Tensor, *_: object) -> None:
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


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = MLP(2048, 80)
    x, y = torch.randn(BATCH, 2048), torch.rand(BATCH, 80)
    ways: dict[str, Callable[..., object]] = {"plain forward and backward": plain}
    for method in ("gram", "jvp", "double-backward"):
        ways[f"ramify, {method}"] = lambda *data, method=method: pseudo_label_gradient(*data, method=method)
    ways |= {"higher": with_higher, "torchopt": with_torchopt}
    failed = False
    for warm, bound in ((256, 2.6), (64, 2.0)):
        data = (net, x, y, torch.randn(warm, 2048), (torch.rand(warm, 80) < 0.1).float(), ALPHA)
        reference = pseudo_label_gradient(*data, method="double-backward")
        seconds: dict[str, list[float]] = {}
        for name, way in ways.items():
            try:
                found = way(*data)
            except ImportError:
                print(f"{name} is not installed: left out")
                continue
            if found is not None:
                assert (found - reference).abs().max() < 1e-4 * reference.abs().max(), name
            seconds[name] = []
        for _ in range(ROUNDS):  # interleaved, so that a busy moment of the machine hits all alike
            for name, taken in seconds.items():
                start = time.process_time()
                ways[name](*data)
                taken.append(time.process_time() - start)
        base = statistics.median(seconds["plain forward and backward"])
        print(f"warm batch {warm}:")
        ratios = {name: statistics.median(taken) / base for name, taken in seconds.items()}
        for name, ratio in ratios.items():
            print(f"  {name:28} {ratio:5.2f}")
        gram = ratios["ramify, gram"]
        rivals = [ratios[name] for name in ("higher", "torchopt") if name in ratios]
        failed |= gram > bound or (bool(rivals) and min(rivals) < 1.5 * gram)
        print(f"  bound {bound}; " + (f"{min(rivals) / gram:.2f} x faster than the better library" if rivals else ""))
    if failed:
        sys.exit("a bound does not hold")


if __name__ == "__main__":
    main()
