"""The source that takes a step apart: its layers, what is around them, and their time and bytes."""

WATCH = '''\
def undivided(module):
    """Attention and recurrent layers are taken in one piece, whatever they are made of."""
    kinds = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
    return isinstance(module, kinds) or type(module).__module__.startswith("opacus.layers")


def layers_of(net):
    """The layers of a model by name: every module with parameters of its own, those that have
    further layers inside too (a class token, positions)."""
    found = {}

    def visit(module, name):
        whole = undivided(module)
        if whole or any(True for _ in module.parameters(recurse=False)):
            kind, old = type(module).__name__.removeprefix("DP"), getattr(module, "replaces", "")
            # A number alone, as in a Sequential, says little.
            label = f"{name} {kind}".lstrip() if old or name[-1:].isdigit() else name or kind
            found[label + " for " + old if old else label] = module
        for child, part in () if whole else module.named_children():
            visit(part, name + "." + child if name else child)

    visit(getattr(net, "_module", net), "")
    return found


class Parts(dict):
    """Nanoseconds by part. Cleared, it waits for the next mark: what is between two calls is no
    part of either."""

    part, since = "other", None

    def clear(self):
        super().clear()
        self.part, self.since = "other", None

    def enter(self, part):
        moment = time.perf_counter_ns()
        if self.since is not None:
            self[self.part] = self.get(self.part, 0) + moment - self.since
        left, self.part, self.since = self.part, part, moment
        return left


def watch(net, optimizer, on_cuda, full_hooks):
    """Nanoseconds of a step by part: each layer, what the model does around them going forward,
    clipping, noise, the optimizer, the rest. What runs between two marks belongs to the first; in
    the backward pass a layer ends where the one before it begins."""
    parts, handles, patched = Parts(), [], []
    layers = layers_of(net)

    def enter(part):
        if on_cuda:
            torch.cuda.synchronize()
        return parts.enter(part)

    def around(name, module):
        """Enters it going forward; call what is returned for the other end."""
        before = []
        handles.append(
            module.register_forward_pre_hook(lambda module, args: before.append(enter(name)))
        )
        return lambda: enter(before.pop())

    def watched(name, module):
        leave = around(name, module)

        def after_forward(module, args, output):
            leave()
            first = output[0] if isinstance(output, (tuple, list)) else output
            if not full_hooks and isinstance(first, torch.Tensor) and first.requires_grad:
                first.register_hook(lambda grad: enter(name) and None)

        handles.append(module.register_forward_hook(after_forward))
        if full_hooks:
            handles.append(
                module.register_full_backward_pre_hook(lambda module, grad: enter(name) and None)
            )

    def timed(owner, method, part):
        function = getattr(owner, method, None)
        if function is None:
            return

        def called(*args, **kwargs):
            left = enter(part)
            try:
                return function(*args, **kwargs)
            finally:
                enter("other" if left in layers else left)

        setattr(owner, method, called)
        patched.append((owner, method))

    leave_model = around("wrapper", net)
    for name, module in layers.items():
        watched(name, module)
    # The last hook of a model that is a single layer.
    handles.append(net.register_forward_hook(lambda module, args, output: leave_model() and None))
    timed(optimizer, "zero_grad", "optimizer")
    timed(optimizer, "step", "optimizer")
    timed(optimizer, "clip_and_accumulate", "clipping")
    timed(optimizer, "accumulate", "clipping")
    timed(optimizer, "scale_grad", "clipping")
    timed(optimizer, "add_noise", "noise")
    timed(net, "get_clipping_coef", "clipping")

    def stop():
        for handle in handles:
            handle.remove()
        for owner, method in patched:
            delattr(owner, method)

    def held():
        """Bytes of each layer's parameters, gradients and gradients by sample; those of a parameter
        that several layers share are the first's."""
        sizes, seen = {}, set()
        for name, module in layers.items():
            tensors = []
            for p in module.parameters(recurse=undivided(module)):
                if p in seen:
                    continue
                seen.add(p)
                by_sample = getattr(p, "grad_sample", None)
                tensors += [p, p.grad, *(by_sample if isinstance(by_sample, list) else [by_sample])]
            sizes[name] = sum(t.nbytes for t in tensors if t is not None)
        return sizes

    return parts, held, stop'''
