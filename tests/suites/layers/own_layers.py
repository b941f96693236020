"""A user's file for the tests: a LoRA linear, an RMSNorm, and per-sample gradients one by one."""

import torch
from torch import nn

import opbench as ob


class LoRALinear(nn.Module):
    """A frozen linear layer and a trained one of low rank next to it."""

    def __init__(self, in_features, out_features, rank):
        super().__init__()
        self.base = nn.Linear(in_features, out_features).requires_grad_(False)
        self.down = nn.Linear(in_features, rank, bias=False)
        self.up = nn.Linear(rank, out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


ob.layer_pair(
    LoRALinear, nn.Linear, name="lora", input_shape=("in_features",),
    in_features=6, out_features=5, rank=[2, 3],
)  # fmt: skip


@ob.layer_pair(counterpart=nn.RMSNorm, input_shape=(4, "normalized_shape"), normalized_shape=8)
class RMSNorm(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class OneByOne(nn.Module):
    """Calls the module sample by sample, so that autograd gives each sample's gradient."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        trained = [p for p in self.module.parameters() if p.requires_grad]
        return Call.apply(self.module, x, *trained)


class Call(torch.autograd.Function):
    @staticmethod
    def forward(ctx, module, x, *trained):
        ctx.module, ctx.trained = module, trained
        ctx.save_for_backward(x)
        return module(x).detach()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            rows = [
                torch.autograd.grad(ctx.module(x[i : i + 1]), ctx.trained, grad[i : i + 1])
                for i in range(len(x))
            ]
        for p, each in zip(ctx.trained, zip(*rows)):
            p.grad_sample = torch.stack(each)
        return (None, None, *(p.grad_sample.sum(0) for p in ctx.trained))


@ob.grad_sample_mode
def one_by_one(module):
    return OneByOne(module)
