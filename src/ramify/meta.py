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
from ramify.nets import MLP
from ramify.parallel import Team

threshold_backward = torch.ops.aten.threshold_backward  # zero where the other is: three times as fast as a mask

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
    team: Team = ALONE,
) -> Tensor:
    """The derivative of the warm loss after one virtual step, by the label of every entry of the batch (B x K).

    ``gram`` is the fastest and knows the plain MLP only, ``jvp`` takes any module, ``double-backward`` is the
    reference; ``auto`` chooses between the first two. Dropout must be at rest (``net.eval()``). ``gram`` is
    spared a pass where the net's ``activations`` for x, and more after it, are there already. In a
    ``team`` the batch and the warm set are this process's parts of them, whose gradients are added up (by ``jvp``).
    """
    if method == "auto":
        method = "gram" if knows_gram(net) and team.size == 1 else "jvp"
    if method == "gram":
        return _gram(net, x, y, x_warm, y_warm, alpha, activations)  # type: ignore[arg-type]
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
    net: MLP, x: Tensor, y: Tensor, x_warm: Tensor, y_warm: Tensor, alpha: float, found: list[Tensor] | None
) -> Tensor:
    """Layer by layer, with inputs A, A' and back-propagated deltas D, D' of the batch (at theta) and the warm set (at
    theta'). Nothing of the size of the weights is formed: with G = A'A^T, the stepped W' = W - alpha D^T A gives

        A'W'^T = A'W^T - alpha G D,      D'W' = D'W - alpha (D'D^T) A,      A (D'^T A')^T = G^T D'.
    """
    layers: list[Any] = list(net.layers)
    weights: list[Tensor] = [layer.weight for layer in layers]
    biases: list[Tensor] = [layer.bias for layer in layers]
    last = len(weights) - 1

    # The batch at theta.
    *inputs, logits = [x, *(part[: len(x)] for part in (net.activations(x) if found is None else found))]
    deltas = [(logits.sigmoid() - y) / len(x)]
    for layer in range(last, 0, -1):
        deltas.insert(0, threshold_backward(deltas[0] @ weights[layer], inputs[layer], 0))

    # The warm set at theta'.
    warm_inputs, grams = [x_warm], []
    for layer in range(last + 1):
        grams.append(warm_inputs[-1] @ inputs[layer].T)
        z = torch.addmm(biases[layer] - alpha * deltas[layer].sum(0), warm_inputs[-1], weights[layer].T)
        z.addmm_(grams[-1], deltas[layer], alpha=-alpha)
        warm_inputs.append(z.relu_() if layer < last else z)
    warm_deltas = [(warm_inputs.pop().sigmoid_() - y_warm) / len(x_warm)]
    for layer in range(last, 0, -1):
        back = warm_deltas[0] @ weights[layer]
        back.addmm_(warm_deltas[0] @ deltas[layer].T, inputs[layer], alpha=-alpha)
        warm_deltas.insert(0, threshold_backward(back, warm_inputs[layer], 0))

    # The tangent of the batch's logits along v = (D'^T A', sum D').
    tangent = torch.addmm(warm_deltas[0].sum(0), grams[0].T, warm_deltas[0])
    for layer in range(1, last + 1):
        tangent = threshold_backward(tangent, inputs[layer], 0) @ weights[layer].T
        tangent.add_(warm_deltas[layer].sum(0)).addmm_(grams[layer].T, warm_deltas[layer])
    return tangent.mul_(alpha / len(x))


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
