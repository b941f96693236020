"""An operator of the user's own in each framework that has such a thing: it adds one.

It computes next to nothing, so its time is that of calling into the user's code and back.
"""

CUSTOM_TORCH = """\
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(context, data):
        return data + 1

    @staticmethod
    def backward(context, gradient):
        return gradient"""

CUSTOM_JAX = """\
@jax.custom_vjp
def add_one(data):
    return data + 1


add_one.defvjp(lambda data: (data + 1, None), lambda _, gradient: (gradient,))"""

CUSTOM_MXNET = """\
class AddOne(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("opbench_add_one")
class AddOneProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=True)

    def infer_shape(self, in_shape):
        return [in_shape[0]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return AddOne()"""
