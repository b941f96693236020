"""Tensors of any framework as raw bytes with a plain header, and back, without pickle. The header
holds `dtype`, `shape` and, where only a sample of the elements is written, the `step` between them.
Bytes are not copied on the way: of large tensors each copy takes as long as a call.

The framework is recognised by the type of the value, so that nothing is imported here that the
code under test has not imported itself.
"""

import ctypes
import struct
import sys

#: Of larger outputs only an evenly spaced sample is written: enough to see that two differ.
MAX_ELEMENTS = 1 << 20


class Unknown(Exception):
    """A value of a type that cannot be read or filled here."""


def flatten(name, value):
    """(name, tensor or number) pairs of a value that may be a list, a tuple or a dict of them."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from flatten("%s[%r]" % (name, key), value[key])
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from flatten("%s[%d]" % (name, index), item)
    elif value is not None:
        yield name, value


def kind_of(value):
    """`torch`, `numpy`, `jax`, `mxnet`, `ort`, `number`; empty for anything else."""
    if isinstance(value, (bool, int, float)):
        return "number"
    top = type(value).__module__.partition(".")[0]
    if top == "torch":
        return "torch" if isinstance(value, sys.modules["torch"].Tensor) else ""
    if top in ("jaxlib", "jax"):
        return "jax" if hasattr(value, "__array__") else ""
    if top == "mxnet":
        return "mxnet" if hasattr(value, "asnumpy") else ""
    if top == "onnxruntime":
        return "ort" if hasattr(value, "numpy") else ""
    return "numpy" if hasattr(value, "__array_interface__") else ""


def read(value, sampled=False):
    """(header, its bytes) of a tensor; with `sampled`, of at most about `MAX_ELEMENTS` of it."""
    kind = kind_of(value)
    if kind == "number":
        return _number(value)
    if kind == "torch":
        return _read_torch(value, sampled)
    if kind == "":
        raise Unknown("a value of type %s cannot be compared" % type(value).__qualname__)
    numpy = sys.modules["numpy"]
    if kind == "mxnet":
        value = value.asnumpy()
    elif kind == "ort":
        value = value.numpy()
    array = numpy.ascontiguousarray(value)
    shape = numpy.shape(value)  # ascontiguousarray turns a scalar into an array of one element
    step = step_for(array.size) if sampled else 1
    if step > 1:
        array = numpy.ascontiguousarray(array.reshape(-1)[::step])
    return header_of(array.dtype.name, shape, step), array.reshape(-1).view("uint8")


def _number(value):
    if isinstance(value, bool):
        return header_of("bool", ()), struct.pack("=?", value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return header_of("int64", ()), struct.pack("=q", value)
    return header_of("float64", ()), struct.pack("=d", float(value))


def _read_torch(value, sampled):
    tensor = value.detach()
    shape = tuple(tensor.shape)
    if tensor.layout != sys.modules["torch"].strided:
        tensor = tensor.to_dense()
    if tensor._is_zerotensor():  # of zeros, without memory: the gradient of `sgn`
        tensor = tensor.clone()
    step = step_for(tensor.numel()) if sampled else 1
    tensor = tensor.cpu().contiguous().reshape(-1)
    if step > 1:
        tensor = tensor[::step].contiguous()
    dtype = str(tensor.dtype).rpartition(".")[2]
    # Not through NumPy, which has no bfloat16 and which torch does not need.
    size = tensor.numel() * tensor.element_size()
    data = (ctypes.c_char * size).from_address(tensor.data_ptr())
    data.owner = tensor  # lives as long as its bytes are looked at
    return header_of(dtype, shape, step), data


def header_of(dtype, shape, step=1):
    return {"dtype": dtype, "shape": [int(length) for length in shape], "step": step}


def step_for(elements):
    """A prime, so that a sample does not stay within one row or column."""
    step = -(-elements // MAX_ELEMENTS)
    while step > 1 and any(step % factor == 0 for factor in range(2, int(step**0.5) + 1)):
        step += 1
    return max(1, step)


def fill(template, header):
    """The template with the values of the header's file; it keeps its dtype, device and
    requires_grad."""
    kind = kind_of(template)
    if kind == "number":
        return type(template)(_array(header).reshape(-1)[0].item())
    if kind == "":
        raise Unknown("a value of type %s cannot be filled" % type(template).__qualname__)
    shape = template.shape() if kind == "ort" else template.shape
    if list(shape) != header["shape"]:
        # A gradient has the shape of the result, whose axes may be grouped differently here.
        if count(shape) != count(header["shape"]):
            text = "an input has shape %s here and %s in the reference"
            raise ValueError(text % (list(shape), header["shape"]))
        header = dict(header, shape=[int(length) for length in shape])
    if count(shape) == 0:
        return template
    if kind == "torch":
        return _fill_torch(template, header)
    array = _array(header)
    if kind == "jax":
        jax = sys.modules["jax"]
        return jax.device_put(array.astype(template.dtype, copy=False), template.sharding)
    if kind == "mxnet":
        template[:] = array
        return template
    if kind == "ort":
        array = array.astype(template.numpy().dtype, copy=False)
        return type(template).ortvalue_from_numpy(array, template.device_name())
    return array.astype(template.dtype, copy=False)


def count(shape):
    total = 1
    for length in shape:
        total *= int(length)
    return total


def _fill_torch(template, header):
    torch = sys.modules["torch"]
    dtype, size = getattr(torch, header["dtype"]), count(header["shape"])
    given = torch.from_file(header["file"], size=size, dtype=dtype)
    with torch.no_grad():
        template.copy_(given.reshape(header["shape"]))
    return template


def _array(header):
    """A NumPy array; bfloat16, which NumPy lacks, as the float32 of the same value."""
    numpy = sys.modules["numpy"]
    if header["dtype"] == "bfloat16":
        wide = numpy.fromfile(header["file"], "uint16").astype("uint32") << 16
        return wide.view("float32").reshape(header["shape"])
    # Mapped, not read: JAX takes it as it is. What the code writes to it stays in this process.
    given = numpy.memmap(header["file"], header["dtype"], mode="c")
    return given.view(numpy.ndarray).reshape(header["shape"])
