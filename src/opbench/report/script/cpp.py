"""A case in C++ as a standalone script: Python that compiles it, loads it and measures it.

The C++ is the very text that a run compiles, for one statement; the compiler, torch and the
standard library are all it needs.
"""

from __future__ import annotations

from opbench.case import Case
from opbench.worker.cpp import source as cpp_source

_MAIN = """

def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "statement.cpp").write_text(SOURCE)
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-fPIC", "-shared", "-w"]
    command += [str(folder / "statement.cpp"), "-o", str(folder / "statement.so"), *FLAGS]
    subprocess.run(command, check=True, cwd=FOLDER)
    model = folder / "model.pt"
{prelude}{seed}    library = ctypes.CDLL(str(folder / "statement.so"))
    library.opbench_{key}.restype = ctypes.c_void_p
    library.opbench_send.restype = ctypes.c_int64
    library.opbench_error.restype = ctypes.c_char_p
    send = library.opbench_send
    session = ctypes.c_void_p(library.opbench_{key}(str(model).encode()))
    if library.opbench_error(session):
        sys.exit(library.opbench_error(session).decode())

    def block(op, n):
        taken = send(session, op, ctypes.c_int64(n))
        if taken < 0:
            sys.exit(library.opbench_error(session).decode())
        return taken

    n = 1
    while block({run}, n) < 5_000_000 and n < 1 << 26:
        n *= 2
    end = time.monotonic() + 0.3  # warm up
    while time.monotonic() < end:
        block({run}, n)
    loop = min(block({nothing}, n) for _ in range(5))
    samples = []
    end = time.monotonic() + 2.0
    while len(samples) < 7 or (time.monotonic() < end and len(samples) < 200):
        samples.append((block({run}, n) - loop) / n * 1e-9)
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    print(f"median {{median:.4g}} s per call, quartiles {{low:.4g}} to {{high:.4g}} s")
    print(f"median_seconds {{median:.6e}}")


if __name__ == "__main__":
    main()
"""

_FLAGS = """
root = pathlib.Path(torch.__file__).parent
FLAGS = [f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include", f"-L{root}/lib"]
FLAGS += ["-lc10", "-ltorch_cpu", "-ltorch"]
FLAGS.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}")
"""


def script(case: Case, header: str, environment: str) -> str:
    """Python source that compiles and measures the case; `header` and `environment` come first."""
    data = case.to_dict()
    tier = cpp_source.tier_of(data)
    torch = tier != "none"
    text = header + environment
    text += "\nimport ctypes\nimport os\nimport pathlib\nimport statistics\nimport subprocess\n"
    text += "import sys\nimport tempfile\nimport time\n"
    text += f"\nimport torch\n{_FLAGS}" if torch else "\nFLAGS = []\n"
    text += own_flags(case)
    if case.prelude:
        text += "\n# Python that saves the TorchScript which the C++ loads\n"
        text += f"PRELUDE = {literal(case.prelude)}\n"
    text += f"\nSOURCE = {literal(cpp_source.unit([data], tier))}\n"
    prelude = (
        '    name = str(folder / "model.py")\n'
        "    pathlib.Path(name).write_text(PRELUDE)\n"
        '    space = {"model_path": str(model), "__name__": "model"}\n'
        '    exec(compile(PRELUDE, name, "exec"), space)\n'
    )
    seed = f"    torch.set_num_threads({case.threads})\n    torch.manual_seed({case.seed})\n"
    return text + _MAIN.format(
        key=cpp_source.key_of(data),
        run=cpp_source.RUN | cpp_source.TIMED,
        nothing=cpp_source.NOTHING | cpp_source.TIMED,
        prelude=prelude if case.prelude else "",
        seed=seed if torch else "",
    )


def own_flags(case: Case) -> str:
    """Where headers are found, and what the case asks of the compiler and the linker."""
    build = case.cpp_build
    if build is None:
        return "FOLDER = None\n"
    flags = [*(f"-I{path}" for path in (*build.extra_include_paths, build.folder))]
    flags += [*build.extra_cflags, *build.extra_ldflags]
    flags += [f"-Wl,-rpath,{flag[2:]}" for flag in build.extra_ldflags if flag.startswith("-L")]
    return f"FOLDER = {build.folder!r}\nFLAGS += {flags!r}\n"


def literal(text: str) -> str:
    """A raw string with the text as it reads, where the text allows one."""
    if "'''" in text or text.endswith(("'", "\\")):
        return repr(text)
    return f"r'''\n{text.strip()}\n'''"
