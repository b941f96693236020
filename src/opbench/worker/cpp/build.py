"""Compiles the C++ statements of a run, in the interpreter whose torch they are for.

`main.py cpp.build` reads `{"cases": […], "jobs": n}` from its standard input and writes, for the
key of each case, a library or the compiler's message. All statements of a run become one library,
and those that need no torch another; what was compiled before is not compiled again, in this run or
any other, while the files that the compiler read are the same. The compiler is called directly,
with torch's folders found without importing it.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-w", "-fvisibility=hidden")
#: How far inlining may go depends on the size of the unit; a statement must compile to the same
#: code whatever is compiled with it. clang has no such limit.
WHOLE_UNIT = ("--param", "large-unit-insns=100000000")
#: Where compilers look for headers and libraries besides their options.
SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
#: Changes when linking changes: libraries that were linked differently are not reused.
LINKING = "statements without torch apart"
COMPILERS = ("g++", "c++", "clang++")
NO_COMPILER = "C++ statements need a compiler: apt install g++ (or clang, or set CXX)"

#: Statements of one translation unit: beyond this, two units on two cores are faster than one.
UNIT_SIZE = 40
ERROR = re.compile(
    r"^(?P<key>[0-9a-f]{20}|globals)(?:/(?P<part>\w+))?:(?P<line>\d+)(?::\d+)?: "
    r"(?:fatal )?error: (?P<text>.*)$"
)
LINKER_ERROR = re.compile(r"cannot find|undefined|multiple definition|not recognized")
MENTION = re.compile(r"\b([0-9a-f]{20})/(setup|stmt|loop):(\d+)")
PARTS = {"setup": "cpp_setup", "stmt": "cpp_stmt", "loop": "cpp_stmt"}


def build(cases, jobs):
    """`{key: {"library": path} or {"outcome": …, "reason": …, "output": …}}`."""
    from .. import cache
    from .index import Index
    from .source import key_of, tier_of

    wanted = {key_of(case): case for case in cases}
    compiler = find_compiler()
    if compiler is None:
        return {key: {"outcome": "unsupported", "reason": NO_COMPILER} for key in wanted}
    torch = torch_folder()
    folder = cache.folder("cpp", toolchain_hash(compiler, torch))
    answers = {}
    with locked(folder):
        index = Index(folder)
        for key, case in list(wanted.items()):
            if torch is None and tier_of(case) != "none":
                reason = "this statement needs torch, which is not installed"
                answers[key] = {"outcome": "unsupported", "reason": reason}
                del wanted[key]
            else:
                found = index.find(key)
                if found:
                    answers[key] = {"library": found}
                    del wanted[key]
        if wanted:
            answers.update(Build(compiler, torch, index, jobs).run(wanted))
    return answers


class Build:
    """Compiles and links; a statement that fails is taken out, the others are tried again."""

    def __init__(self, compiler, torch, index, jobs):
        self.compiler = compiler
        self.flags = [*FLAGS, *whole_unit(compiler), *torch_flags(torch)]
        self.libraries = torch_libraries(torch)
        self.index = index
        self.folder = index.folder
        self.jobs = max(1, jobs)

    def run(self, wanted):
        from .source import tier_of

        answers = {}
        for key, case in list(wanted.items()):
            broken = brackets(case)
            if broken:
                answers[key] = broken
                del wanted[key]
        tiers = {key: tier_of(case) for key, case in wanted.items()}
        todo = units(wanted, tiers)
        objects = []
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            while todo:
                done, todo = todo[: self.jobs], todo[self.jobs :]
                for (tier, members), (object_, output) in zip(done, self.compile(done, work)):
                    if object_ is not None:
                        objects.append((tier, members, object_))
                        continue
                    failed = blamed(members, output)
                    if failed is None:  # no statement named: halve until one is left
                        todo += halves(tier, members, output, answers)
                        continue
                    again = {}
                    for key, message in failed.items():
                        # Perhaps only a header is missing: try again with all of torch's.
                        if tier == "tensor":
                            again[key] = members.pop(key)
                        else:
                            del members[key]
                            answers[key] = message
                    todo += [(tier, members)] if members else []
                    todo += [("all", again)] if again else []
            # What needs no torch must load in a worker that has none, and what links a library of
            # the user's must not fail the others.
            together: dict = {}
            for tier, members, object_ in objects:
                own = build_of(next(iter(members.values())))
                linked = (tier == "none", own["folder"], tuple(own["extra_ldflags"]))
                alone = linked if own["extra_ldflags"] else (linked[0], "", ())
                together.setdefault(alone, []).append((members, object_))
            for (plain, place, flags), chosen in together.items():
                libraries = [*flags, *([] if plain else self.libraries)]
                answers.update(self.link(chosen, work, libraries, place))
        return answers

    def compile(self, batch, work):
        """(object file or None, compiler's output) of each unit, compiled in parallel."""
        from .source import unit

        running = []
        for tier, members in batch:
            stem = tempfile.mkstemp(dir=work)[1]
            with open(stem + ".cpp", "w") as stream:
                stream.write(unit(list(members.values()), tier))
            own = build_of(next(iter(members.values())))
            flags = [*self.flags, *own["extra_cflags"]]
            flags += ["-I" + path for path in (*own["extra_include_paths"], own["folder"]) if path]
            process = subprocess.Popen(
                [self.compiler, *flags, "-MD", "-c", stem + ".cpp", "-o", stem + ".o"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=own["folder"] or None,
            )
            running.append((process, stem + ".o"))
        return [
            (object_ if process.wait() == 0 else None, output)
            for process, object_, output in ((p, o, p.communicate()[0]) for p, o in running)
        ]

    def link(self, objects, work, libraries, place):
        """Link one library of all objects, move it into place, then write the index."""
        from .index import linked_files, read_files

        keys = sorted(key for members, _ in objects for key in members)
        draft = os.path.join(work, "draft.so")
        # Found again when it is loaded, wherever that is.
        found = [
            "-Wl,-rpath," + os.path.join(place, flag[2:])
            for flag in libraries
            if flag.startswith("-L")
        ]
        command = [self.compiler, "-shared", "-o", draft, *(o for _, o in objects)]
        linked = subprocess.run(
            [*command, *libraries, *found, "-Wl,--trace"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=place or None,
        )
        if linked.returncode:
            lines = linked.stdout.strip().splitlines()
            found = [line for line in lines if LINKER_ERROR.search(line)] or lines[-1:] or ["?"]
            reason = ("the linker failed: %s" % found[0])[:500]
            failure = {"outcome": "failed", "reason": reason, "output": linked.stdout[-6000:]}
            return dict.fromkeys(keys, failure)
        with open(draft, "rb") as stream:
            # Named by its content: an older one, of other headers, may still be in use.
            name = "opbench-%s.so" % hashlib.sha256(stream.read()).hexdigest()[:16]
        library = os.path.join(self.folder, name)
        os.replace(draft, library)
        archives = linked_files(linked.stdout, place)
        for members, object_ in objects:
            stem = object_[: -len(".o")]
            files = read_files(stem + ".d", stem + ".cpp", place_of(members))
            self.index.keep(members, name, files | archives)
        return {key: {"library": library} for key in keys}


def units(wanted, tiers):
    """(tier, {key: case}) of each translation unit: same headers, same global setup."""
    groups: dict = {}
    for key, case in wanted.items():
        how = json.dumps(build_of(case))
        groups.setdefault((tiers[key], case.get("globals") or "", how), []).append((key, case))
    found = []
    for (tier, _globals, _how), members in groups.items():
        for first in range(0, len(members), UNIT_SIZE):
            found.append((tier, dict(members[first : first + UNIT_SIZE])))
    # The longest first, because the last to finish determines the total time.
    return sorted(found, key=lambda unit: (unit[0] == "all", len(unit[1])), reverse=True)


def build_of(case):
    """What the case asks of its compiler: see `opbench.case.CppBuild`."""
    nothing = {"folder": "", "extra_include_paths": [], "extra_cflags": [], "extra_ldflags": []}
    return {**nothing, **(case.get("cpp_build") or {})}


def place_of(members):
    return build_of(next(iter(members.values())))["folder"]


def brackets(case):
    from .source import unbalanced

    for part in ("globals", "setup", "stmt"):
        wrong = unbalanced(case.get(part) or "")
        if wrong:
            line, text = wrong
            return failure(case, part, line, text, "")
    return None


def blamed(members, output):
    """`{key: failure}` for the cases that the compiler's messages name; None if there are none."""
    found = {}
    for line in output.splitlines():
        match = ERROR.match(line)
        if match and match["key"] in members and match["key"] not in found:
            case = members[match["key"]]
            found[match["key"]] = failure(
                case, match["part"], int(match["line"]), match["text"], output
            )
        elif match and match["key"] == "globals":
            case = next(iter(members.values()))
            same = failure(case, "globals", int(match["line"]), match["text"], output)
            return dict.fromkeys(members, same)
    if not found:
        text = next((x.split("error: ", 1)[1] for x in output.splitlines() if "error: " in x), "")
        for key, part, line in MENTION.findall(output):
            if key in members and key not in found:
                found[key] = failure(members[key], part, int(line), text, output)
    return found or None


def halves(tier, members, output, answers):
    keys = list(members)
    if len(keys) == 1:
        errors = [line for line in output.splitlines() if "error" in line] or [output[-200:]]
        reason = "the compiler failed: %s" % errors[0][:300]
        answers[keys[0]] = {"outcome": "failed", "reason": reason, "output": output[-6000:]}
        return []
    middle = len(keys) // 2
    return [(tier, {k: members[k] for k in part}) for part in (keys[:middle], keys[middle:])]


def failure(case, part, line, text, output):
    """The compiler's message at the user's line."""
    name = {"globals": "global_setup"}.get(part) or PARTS.get(part, part)
    source = (case.get("stmt" if part == "loop" else part) or "").splitlines()
    shown = source[line - 1].strip() if 0 < line <= len(source) else ""
    where = " (at `%s`)" % shown[:120] if shown else ""
    own = [row for row in output.splitlines() if "error" in row or "/%s:" % part in row]
    return {
        "outcome": "failed",
        "reason": ("does not compile: %s line %d: %s%s" % (name, line, text, where))[:500],
        "output": "\n".join(own)[:3000],
    }


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


def toolchain_hash(compiler, torch):
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


@contextlib.contextmanager
def locked(folder):
    """Of two runs that need the same library, the second waits and finds it built."""
    with open(os.path.join(folder, "lock"), "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def main():
    request = json.load(sys.stdin)
    answer = build(request["cases"], request.get("jobs") or os.cpu_count() or 1)
    json.dump(answer, sys.stdout)
