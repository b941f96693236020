"""The source of one point of a sweep on each runtime: eager, compiled, and ONNX Runtime.

What is not eager is compared with eager before it is timed: a model exported otherwise than it
was written is fast and wrong. The comparison is part of the case, so a standalone script makes it
as well.
"""

from __future__ import annotations

from opbench.define.program import lines

#: Largest difference from eager, as a share of the largest value of the output.
TOLERANCE = {"fp32": 1e-3, "fp16": 1e-2, "bf16": 4e-2}

TENSORS = '''
def tensors(value):
    """Every tensor in what a model returned, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors(part)]
    return []
'''

PARITY = '''
class Mismatch(Exception):
    """The output is not that of eager PyTorch, so its time would mean nothing."""


def gap(found, expected):
    """The largest difference, as a share of the largest expected value."""
    if len(found) != len(expected):
        return float("inf")
    worst = 0.0
    for one, other in zip(found, expected):
        if one.shape != other.shape:
            return float("inf")
        one, other = one.detach().cpu().double(), other.detach().cpu().double()
        same = (one == other) | (one.isnan() & other.isnan())
        off = torch.where(same, torch.zeros_like(one), (one - other).abs())
        largest = other[other.isfinite()].abs()
        scale = max(largest.max().item() if largest.numel() else 0.0, 1e-6)
        share = off.max().item() / scale if off.numel() else 0.0
        worst = share if not share <= worst else worst
    return worst


def check(runtime, found, expected, again, tolerance, training):
    """Raises Mismatch when `found` is not what eager PyTorch gives, `again` when called twice."""
    inference = "; training = false compares and measures inference" if training else ""
    if not gap(again, expected) <= tolerance:
        raise Mismatch(
            "eager PyTorch itself gives another output each time, as dropout does, so "
            f"{runtime} cannot be checked{inference}"
        )
    off = gap(found, expected)
    if not off <= tolerance:
        how = "has another shape than" if off == float("inf") else f"is {off:.2g} off"
        raise Mismatch(
            f"the output of {runtime} {how} eager PyTorch's, as a share of its largest value "
            f"({tolerance:g} allowed){inference}"
        )
'''

ORT_IMPORTS = ("functools", "os", "re", "tempfile", "warnings", "onnxruntime")
ORT = '''
class Unsupported(Exception):
    """What this ONNX Runtime cannot do."""


#: ONNX's numbers for the types of tensors.
ONNX_TYPES = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6,
    torch.int64: 7, torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.bfloat16: 16,
}


def export(net, inputs):
    """The model as the bytes of an ONNX file."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(net, inputs, dynamo=True, verbose=False)
        except Exception as error:
            while error.__cause__ is not None:
                error = error.__cause__
            text = re.sub(r"\x1b\\[[0-9;]*m", "", str(error)).strip() or type(error).__name__
            raise Unsupported(f"torch cannot export it to ONNX: {text.splitlines()[0]}") from None
    return program.model_proto.SerializeToString()


def kept(net, inputs, key, seed):
    """The exported model, kept between runs: exporting takes seconds, and each worker start, each
    child needs it again. Whatever is found there has to agree with `net` before it is timed."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(os.environ.get("OPBENCH_CACHE") or os.path.join(home, "opbench"), "onnx")
    path = os.path.join(folder, f"{key}-{seed}-{torch.__version__}.onnx")
    if os.path.isfile(path):
        with open(path, "rb") as stream:
            return stream.read()
    model = export(net, inputs)
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as stream:
        stream.write(model)
    os.replace(stream.name, path)
    return model


#: What ONNX Runtime says of an operator that does not take a number format.
NO_SUCH_TYPE = r"Type 'tensor.(?:bfloat16|float16|float).' of input parameter .* is invalid"


def open_session(model, device, threads, profile=""):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    provider = "CUDAExecutionProvider" if device.startswith("cuda") else "CPUExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise Unsupported(f"this onnxruntime has no {provider}")
    try:
        return onnxruntime.InferenceSession(model, options, providers=[provider])
    except Exception as error:
        # A number format that an operator does not take is an invalid graph to it.
        found = re.search(NO_SUCH_TYPE, str(error))
        if found is None or type(error).__name__ != "InvalidGraph":
            raise
        raise Unsupported(found[0]) from None


def bind(session, inputs, outputs):
    """Inputs and outputs bound to torch's own memory: nothing is copied in a call."""
    if (len(inputs), len(outputs)) != (len(session.get_inputs()), len(session.get_outputs())):
        raise Unsupported("the exported model has other inputs or outputs than the module")
    binding = session.io_binding()
    for put, known, given in (
        (binding.bind_input, session.get_inputs(), inputs),
        (binding.bind_output, session.get_outputs(), outputs),
    ):
        for place, tensor in zip(known, given):
            where = tensor.device
            put(place.name, where.type, where.index or 0, ONNX_TYPES[tensor.dtype],
                tuple(tensor.shape), tensor.data_ptr())
    return binding


def ort_profile(model, device, threads, inputs, outputs, calls):
    """The file in which ONNX Runtime's own profiler wrote the kernels of that many calls."""
    folder = tempfile.mkdtemp(prefix="opbench-ort-")
    session = open_session(model, device, threads, os.path.join(folder, "profile"))
    binding = bind(session, inputs, outputs)
    for _ in range(calls):
        session.run_with_iobinding(binding)
    return session.end_profiling()
'''


def model(constructor: str, dtype: str, device: str, training: bool) -> str:
    """The set-up that makes the module `net`."""
    move = f'.to("{device}", torch.{dtype})' if device != "cpu" else f".to(torch.{dtype})"
    return lines(f"net = {constructor}{move}", "" if training else "net.eval()")


def compiled(call: str, dtype: str, training: bool) -> str:
    """Compile, and compare, in the set-up: the first call of a compiled model takes seconds."""
    return lines(
        "eager, net = net, torch.compile(net)",
        "with torch.no_grad():",
        f"    expected, again = tensors(eager{call}), tensors(eager{call})",
        f'    check("torch.compile", tensors(net{call}), expected, again, '
        f"{TOLERANCE[dtype]}, {training})",
    )


def onnx(inputs: str, key: str, device: str, threads: int, dtype: str, training: bool) -> str:
    """Export, open a session, bind its inputs and outputs, and compare.

    `key` names everything that decides the exported model but the seed.
    """
    where = f'"{device}", {threads}'
    return lines(
        f"inputs = {inputs}",
        "with torch.no_grad():",
        "    expected, again = tensors(net(*inputs)), tensors(net(*inputs))",
        f'model = kept(net, inputs, "{key}", seed)',
        f"session = open_session(model, {where})",
        "outputs = [torch.empty_like(t).contiguous() for t in expected]",
        "binding = bind(session, inputs, outputs)",
        "session.run_with_iobinding(binding)",
        f'check("ONNX Runtime", outputs, expected, again, {TOLERANCE[dtype]}, {training})',
        f"profiled = functools.partial(ort_profile, model, {where}, inputs, outputs)",
    )
