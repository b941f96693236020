import torch
from torch import nn
from torch.func import functional_call, grad, vmap

import opbench as ob


class LoRALinear(nn.Module):
    def __init__(self, in_features, out_features, rank):
        super().__init__()
        self.frozen = nn.Linear(in_features, out_features).requires_grad_(False)
        self.down = nn.Linear(in_features, rank, bias=False)
        self.up = nn.Linear(rank, out_features, bias=False)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x))


ob.layer_pair(
    LoRALinear, nn.Linear, name="lora", input_shape=("in_features",),
    in_features=64, out_features=64, rank=[4, 16],
)  # fmt: skip


@ob.layer_pair(counterpart=nn.RMSNorm, input_shape=(16, "normalized_shape"), normalized_shape=64)
class RMSNorm(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Vmapped(nn.Module):
    """Per-sample gradients by torch.func, when the gradient of the output is known."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        y = self.module(x)
        if y.requires_grad:
            y.register_hook(lambda g: self.by_sample(x.detach(), g))
        return y

    def by_sample(self, x, grad_output):
        trained = {n: p for n, p in self.module.named_parameters() if p.requires_grad}

        def one(parameters, sample, g):
            return (functional_call(self.module, parameters, (sample[None],))[0] * g).sum()

        each = vmap(grad(one), (None, 0, 0))(trained, x, grad_output)
        for name, parameter in trained.items():
            parameter.grad_sample = each[name].detach()


@ob.grad_sample_mode
def vmapped(module):
    return Vmapped(module)
