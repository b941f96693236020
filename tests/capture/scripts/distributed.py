"""Data parallel, and fully sharded, on gloo: alone in its group, or as `torchrun` starts it."""

import gc
import os

import torch
import torch.distributed as dist
from tests.capture.scripts.training import begin, train
from torch import nn


def losses(way="ddp"):
    begin()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
        if way == "ddp":
            model = nn.parallel.DistributedDataParallel(net)
        else:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard

            mesh = init_device_mesh("cpu", (dist.get_world_size(),))
            model = fully_shard(net, mesh=mesh)
        batches = [torch.randn(4, 6) for _ in range(3)]
        return train(model, batches, lambda x: model(x).square().mean())
    finally:
        # The model first: with the last reference to the group it would wait, with Python's lock,
        # for a thread of gloo's that may want that lock.
        net = model = mesh = None
        gc.collect()
        dist.destroy_process_group()


if __name__ == "__main__":
    print(losses())
