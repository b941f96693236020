"""An operator of one's own: what `opbench run --import` brings back."""

import torch


@torch.library.custom_op("opbench_tests::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


scale.register_fake(lambda x, factor: torch.empty_like(x))
scale.register_autograd(
    lambda context, grad: (grad * context.factor, None),
    setup_context=lambda context, inputs, output: setattr(context, "factor", inputs[1]),
)
