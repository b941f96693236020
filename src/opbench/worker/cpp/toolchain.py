"""The compiler: which one, its flags, the headers and libraries of torch, a hash over all of it."""

import contextlib
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess

#: Debug information of lines alone changes no instruction; counts can be shown by line with it.
FLAGS = ("-std=c++20", "-O2", "-g1", "-fPIC", "-w", "-fvisibility=hidden")
#: How far inlining may go depends on the size of the unit; a statement must compile to the same
#: code whatever is compiled with it. clang has no such limit.
WHOLE_UNIT = ("--param", "large-unit-insns=100000000")
#: Where compilers look for headers and libraries besides their options.
SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
#: Changes when linking changes: libraries that were linked differently are not reused.
LINKING = "statements without torch apart"
COMPILERS = ("g++", "c++", "clang++")
NO_COMPILER = "C++ statements need a compiler: apt install g++ (or clang, or set CXX)"


def find_compiler():
    for name in (os.environ.get("CXX"), *COMPILERS):
        path = shutil.which(name) if name else None
        if path:
            return path
    return None


def torch_folder():
    spec = importlib.util.find_spec("torch")
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else None


def torch_flags(torch):
    if torch is None:
        return []
    include = os.path.join(torch, "include")
    with open(os.path.join(torch, "lib", "libc10.so"), "rb") as stream:
        new_strings = b"__cxx11" in stream.read()
    return [
        "-I" + include,
        "-I" + os.path.join(include, "torch", "csrc", "api", "include"),
        "-D_GLIBCXX_USE_CXX11_ABI=%d" % new_strings,
    ]


def torch_libraries(torch):
    return ["-L" + os.path.join(torch, "lib"), "-lc10", "-ltorch_cpu", "-ltorch"] if torch else []


def whole_unit(compiler):
    return () if "clang" in version_of(compiler) else WHOLE_UNIT


@functools.lru_cache(maxsize=None)
def version_of(compiler):
    return subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True).stdout


def digest(compiler, torch):
    from . import source

    facts = [compiler, version_of(compiler), FLAGS, WHOLE_UNIT, LINKING]
    facts += [source.RUNTIME, source.STATEMENT]
    facts += [os.environ.get(name) for name in SEARCHED]
    if torch is not None:
        for file in ("lib/libtorch_cpu.so", "lib/libc10.so", "version.py"):
            with contextlib.suppress(OSError):
                found = os.stat(os.path.join(torch, file))
                facts += [torch, found.st_size, found.st_mtime_ns]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
