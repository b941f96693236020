"""What an interpreter is made of: its version, its build, its frameworks, its thread settings.

The standard library only, and Python >= 3.9, because this file is also run by interpreters that
have none of our packages. No framework is imported: their versions come from the records that
installers leave and the BLAS of numpy from the text of its build record, so asking costs
milliseconds and changes nothing in the process that asks.
"""

import ast
import importlib.util
import json
import os
import platform
import sys
import sysconfig

from . import known

#: Variables that decide how many threads compute, and how they wait for each other.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OMP_DYNAMIC",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_SCHEDULE",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MKL_NUM_THREADS",
    "MKL_DYNAMIC",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "MXNET_CPU_WORKER_NTHREADS",
)

#: Variables that decide which kernels or which allocator run: the same call, another program.
KERNEL_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "NVIDIA_TF32_OVERRIDE",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_CUDA_ALLOC_CONF",
    "XLA_FLAGS",
    "PYTHONMALLOC",
    "LD_PRELOAD",
)


def interpreter_facts():
    """Plain JSON types: what this interpreter would run a benchmark with."""
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "build": " ".join(platform.python_build()),
        "compiler": platform.python_compiler(),
        "optimized": _optimized(),
        "debug": bool(sysconfig.get_config_var("Py_DEBUG")),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "executable": sys.executable,
        "packages": package_versions(),
        "numpy_blas": numpy_blas(),
        "threads": thread_settings(),
        "kernels": kernel_settings(),
    }


def package_versions():
    """Version of each framework that is installed; those that are not do not appear."""
    installed = records()
    versions = {}
    for framework, distributions in known.distributions().items():
        for distribution in distributions:
            version = version_of(installed.get(distribution))
            if version:
                versions[framework] = version
                break
    return versions


def records(folders=None):
    """Distribution → the file that describes it, the first on the path of this interpreter.

    `importlib.metadata` reads the same files; to import it takes longer than all else that a worker
    imports, and some seconds under Valgrind.
    """
    found: dict = {}
    for folder in sys.path if folders is None else folders:
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:  # not there, or an archive
            continue
        for name in names:
            stem, ending = os.path.splitext(name)
            if ending in (".dist-info", ".egg-info"):
                distribution = stem.partition("-")[0].lower().replace("_", "-").replace(".", "-")
                found.setdefault(distribution, os.path.join(folder, name))
    return found


def version_of(record):
    """The version that a record states; None where it is damaged, or there is none."""
    if record is None:
        return None
    if os.path.isdir(record):
        ending = "METADATA" if record.endswith(".dist-info") else "PKG-INFO"
        record = os.path.join(record, ending)
    try:
        with open(record, encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.lower() == "version":
                    return value.strip()
                if not line.strip():  # the description follows
                    return None
    except (OSError, ValueError):
        pass
    return None


def thread_settings(environ=None):
    """The thread variables that are set, with their values."""
    return _set(THREAD_VARIABLES, environ)


def kernel_settings(environ=None):
    """The variables that choose kernels or allocators and are set, with their values."""
    return _set(KERNEL_VARIABLES, environ)


def numpy_blas():
    """`scipy-openblas 0.3.31`, or an empty string when the build record does not say."""
    try:
        spec = importlib.util.find_spec("numpy")  # finds, does not import
        if spec is None or not spec.submodule_search_locations:
            return ""
        record = os.path.join(spec.submodule_search_locations[0], "__config__.py")
        with open(record, encoding="utf-8") as text:
            return _blas_of_record(text.read())
    except (OSError, ValueError, SyntaxError, ImportError):
        return ""


def _blas_of_record(source):
    """Name and version from the `"blas": {...}` literal of numpy's `__config__.py`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values):
            if _text(key) == "blas" and isinstance(value, ast.Dict):
                entry = {_text(k): _text(v) for k, v in zip(value.keys, value.values)}
                return f"{entry.get('name') or ''} {entry.get('version') or ''}".strip()
    return ""


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _set(names, environ):
    environ = os.environ if environ is None else environ
    return {name: environ[name] for name in names if environ.get(name)}


def _optimized():
    """True when built with `--enable-optimizations`; None when the build record does not say.

    Never False: Debian, for one, optimises by other means and leaves no trace.
    """
    return "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")) or None


def main():
    print(json.dumps(interpreter_facts()))
