"""Regions of `torch.compile`: each is one call, with the graph that it was compiled from."""
