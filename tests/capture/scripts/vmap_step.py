"""Gradients of each sample, by `torch.func`."""

import torch
from tests.capture.scripts.training import begin
from torch import nn
from torch.func import functional_call, grad, vmap


def losses():
    begin()
    net = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loss_of(parameters, x):
        return functional_call(net, parameters, (x,)).square().sum()

    found = []
    for _ in range(3):
        x = torch.randn(4, 6)
        parameters = {name: p.detach() for name, p in net.named_parameters()}
        grads = vmap(grad(loss_of), in_dims=(None, 0))(parameters, x)
        for name, parameter in net.named_parameters():
            parameter.grad = grads[name].mean(0)
        optimizer.step()
        found.append(float(net(x).square().mean()))
    return found


if __name__ == "__main__":
    print(losses())
