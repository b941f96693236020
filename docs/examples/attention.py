import torch
from torch.nn.functional import scaled_dot_product_attention

import opbench as ob


def naive(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v

def qkv(n):
    return [torch.randn(1, 4, n, 64) for _ in range(3)]

run = ob.versus(naive, scaled_dot_product_attention, inputs=qkv, n=[64, 128, 256],
                metrics=["time", "memory"])
print(run)
run.chart().save("attention.svg")
run.page().save("attention.html")
