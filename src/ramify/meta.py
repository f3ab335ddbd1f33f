"""The pseudo-label gradient: how the loss on the warm set would change with the label of each entry in a batch.

With logits z and binary cross-entropy, an entry's loss is softplus(z) - y z: linear in its label y. Losses are summed
over concepts and averaged over items. One virtual step (Eq. theta_update) with the batch of B items,

    theta' = theta - alpha * grad_theta L(batch, y),      d theta' / d y_nk = (alpha / B) * grad_theta z_nk(theta),

so the derivative of the warm set's loss V after it (Eq. grad_dir) is exactly

    d V(theta') / d y_nk = (alpha / B) * < v, grad_theta z_nk(theta) >,      v = grad V at theta':

one Jacobian-vector product of the batch's logits along v, for all entries at once, with no second-order graph.
"""

from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp
from torch.nn.functional import softplus

from ramify.errors import RamifyError
from ramify.nets import MLP, let_through
from ramify.parallel import Team

ALONE = Team()

__all__ = ["bce", "masked_bce", "pseudo_label_gradient"]


def bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of soft labels, summed over concepts and averaged over items.

    >>> bce(torch.zeros(2, 3), torch.ones(2, 3)).item() / 3
    0.693147...
    """
    return (softplus(logits) - labels * logits).sum() / len(logits)


def masked_bce(logits: Tensor, states: Tensor) -> Tensor:
    """The same over the known entries (1 or 0, not -1) alone.

    >>> masked_bce(torch.zeros(1, 3), torch.tensor([[1, -1, 0]])).item() / 2
    0.693147...
    """
    return ((softplus(logits) - states * logits) * (states >= 0)).sum() / len(logits)


def pseudo_label_gradient(
    net: nn.Module,
    x: Tensor,
    y: Tensor,
    x_warm: Tensor,
    y_warm: Tensor,
    alpha: float,
    method: Literal["auto", "gram", "jvp", "double-backward"] = "auto",
    activations: list[Tensor] | None = None,
    warm_first: Tensor | None = None,
    team: Team = ALONE,
) -> Tensor:
    """The derivative of the warm loss after one virtual step, by the label of every entry of the batch (B x K).

    ``gram`` is the fastest and knows the plain MLP only, ``jvp`` takes any module, ``double-backward`` is the
    reference; ``auto`` chooses between the first two. Dropout must be at rest (``net.eval()``). ``gram`` is
    spared a pass where the net's ``activations`` for x, and more after it, are there already, and most of another
    where ``warm_first`` is what the first layer makes of the warm set, before its ReLU. In a ``team`` the batch and
    the warm set are this process's parts of them, whose gradients are added up (by ``jvp``).
    """
    if method == "auto":
        method = "gram" if knows_gram(net) and team.size == 1 else "jvp"
    if method == "gram":
        return _gram(net, x, y, x_warm, y_warm, alpha, activations, warm_first)  # type: ignore[arg-type]
    if method == "jvp":
        return _jvp(net, x, y, x_warm, y_warm, alpha, team)
    if method == "double-backward":
        return _double_backward(net, x, y, x_warm, y_warm, alpha)
    raise RamifyError(f"the method is 'auto', 'gram', 'jvp' or 'double-backward', not {method!r}")


def knows_gram(net: nn.Module) -> TypeGuard[MLP]:
    """Whether the Gram form computes this net: the MLP itself, as a subclass may compute something else.

    >>> knows_gram(MLP(4, 3)), knows_gram(MLP(4, 3, rank=2)), knows_gram(MLP(4, 3, dropout=0.5))
    (True, False, False)
    """
    if type(net) is not MLP or any(type(layer) is not nn.Linear for layer in net.layers):
        return False
    return not any(drop.p for drop in net.drops)


@torch.no_grad()
def _gram(
    net: MLP,
    x: Tensor,
    y: Tensor,
    x_warm: Tensor,
    y_warm: Tensor,
    alpha: float,
    found: list[Tensor] | None,
    warm_first: Tensor | None,
) -> Tensor:
    """Layer by layer, with inputs A, A' and back-propagated deltas D, D' of the batch (at theta) and the warm set (at
    theta'). In a layer with many weights nothing of their size is formed: with G = A'A^T, the stepped
    W' = W - alpha D^T A gives

        A'W'^T = A'W^T - alpha G D,      D'W' = D'W - alpha (D'D^T) A,      A (D'^T A')^T = G^T D'.

    Where it is cheaper (``_steps_weights``, ``_sums_weights``), W' or v = D'^T A' itself is formed.
    """
    layers: list[Any] = list(net.layers)
    weights: list[Tensor] = [layer.weight for layer in layers]
    biases: list[Tensor] = [layer.bias for layer in layers]
    last = len(weights) - 1

    # The batch at theta.
    *inputs, logits = [x, *(part[: len(x)] for part in (net.activations(x) if found is None else found))]
    deltas = [(logits.sigmoid() - y) / len(x)]
    for layer in range(last, 0, -1):
        deltas.insert(0, let_through(deltas[0] @ weights[layer], inputs[layer]))

    # The warm set at theta'.
    sizes = [(len(x), len(x_warm), weight.shape[1], weight.shape[0]) for weight in weights]
    summed = [_sums_weights(*size) for size in sizes]
    stepped = [
        torch.addmm(weight, delta.T, values, alpha=-alpha)
        if _steps_weights(*size, first=n == 0, gram=not v) and (n or warm_first is None)
        else None
        for n, (weight, delta, values, size, v) in enumerate(zip(weights, deltas, inputs, sizes, summed, strict=True))
    ]
    warm_inputs, grams = [x_warm], []
    for layer, (weight, after) in enumerate(zip(weights, stepped, strict=True)):
        spared = after is not None and summed[layer]
        grams.append(x.new_empty(0) if spared else warm_inputs[-1] @ inputs[layer].T)
        moved = alpha * deltas[layer].sum(0)
        if warm_first is not None and not layer:
            z = warm_first - moved
        else:
            z = torch.addmm(biases[layer] - moved, warm_inputs[-1], (weight if after is None else after).T)
        if after is None:
            z.addmm_(grams[-1], deltas[layer], alpha=-alpha)
        warm_inputs.append(z.relu_() if layer < last else z)
    warm_deltas = [(warm_inputs.pop().sigmoid_() - y_warm) / len(x_warm)]
    for layer in range(last, 0, -1):
        after = stepped[layer]
        back = warm_deltas[0] @ (weights[layer] if after is None else after)
        if after is None:
            back.addmm_(warm_deltas[0] @ deltas[layer].T, inputs[layer], alpha=-alpha)
        warm_deltas.insert(0, let_through(back, warm_inputs[layer]))

    # The tangent of the batch's logits along v = (D'^T A', sum D').
    tangent = x.new_zeros(())
    for layer, (values, delta, gram) in enumerate(zip(inputs, warm_deltas, grams, strict=True)):
        if summed[layer]:
            along = torch.addmm(delta.sum(0), values, (delta.T @ warm_inputs[layer]).T)
        else:
            along = torch.addmm(delta.sum(0), gram.T, delta)
        if layer:
            along.addmm_(let_through(tangent, values), weights[layer].T)
        tangent = along
    return tangent.mul_(alpha / len(x))


def _sums_weights(batch: int, warm: int, inputs: int, outputs: int) -> bool:
    """Whether A v^T is cheaper by v = D'^T A' than by G: numbers multiplied.

    >>> _sums_weights(256, 256, 2048, 512), _sums_weights(256, 256, 512, 80)
    (False, True)
    """
    return (batch + warm) * inputs * outputs < batch * warm * (inputs + outputs)


def _steps_weights(batch: int, warm: int, inputs: int, outputs: int, *, first: bool, gram: bool) -> bool:
    """Whether A'W'^T, and D'W' behind the first layer, are cheaper by W' than by G, which may be needed anyway.

    >>> _steps_weights(256, 256, 512, 512, first=False, gram=True)
    True
    >>> _steps_weights(256, 256, 2048, 512, first=True, gram=True)
    False
    """
    by_gram = outputs + (0 if gram else inputs) + (0 if first else inputs + outputs)
    return inputs * outputs < warm * by_gram


def _jvp(net: nn.Module, x: Tensor, y: Tensor, x_warm: Tensor, y_warm: Tensor, alpha: float, team: Team) -> Tensor:
    counts = x.new_tensor([len(x), len(x_warm)])
    team.add_up([counts])
    of_all, of_all_warm = map(float, counts)
    theta = {name: value.detach().requires_grad_() for name, value in net.named_parameters() if value.requires_grad}
    loss = len(x) / of_all * bce(functional_call(net, theta, x), y)
    gradients = torch.autograd.grad(loss, list(theta.values()))
    team.add_up(gradients)
    stepped = {
        name: (value - alpha * gradient).detach().requires_grad_()
        for (name, value), gradient in zip(theta.items(), gradients, strict=True)
    }
    if len(x_warm):
        loss = len(x_warm) / of_all_warm * bce(functional_call(net, stepped, x_warm), y_warm)
        v = list(torch.autograd.grad(loss, list(stepped.values())))
    else:
        v = [torch.zeros_like(value) for value in stepped.values()]
    team.add_up(v)
    with torch.no_grad():
        fixed = {name: value.detach() for name, value in theta.items()}
        along: Tensor = jvp(
            lambda parameters: functional_call(net, parameters, x),
            (fixed,),
            (dict(zip(fixed, v, strict=True)),),
        )[1]
    return along * (alpha / of_all)


def _double_backward(net: nn.Module, x: Tensor, y: Tensor, x_warm: Tensor, y_warm: Tensor, alpha: float) -> Tensor:
    theta = {name: value for name, value in net.named_parameters() if value.requires_grad}
    labels = y.detach().clone().requires_grad_()
    gradients = torch.autograd.grad(bce(net(x), labels), list(theta.values()), create_graph=True)
    stepped = {name: value - alpha * gradient for (name, value), gradient in zip(theta.items(), gradients, strict=True)}
    (gradient,) = torch.autograd.grad(bce(functional_call(net, stepped, x_warm), y_warm), labels)
    return gradient
