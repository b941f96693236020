"""Compiles the C++ statements of a run, in the interpreter whose torch they are for.

`main.py cpp.build` reads `{"cases": […], "jobs": n, "work": folder}` from its standard input and
writes, for the key of each case, a library or the compiler's message. All statements of a run
become one library, and those that need no torch another; what was compiled before is not compiled
again, in this run or any other, while the files that the compiler read are the same. The compiler
is called directly, with torch's folders found without importing it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from .. import cache
from . import messages, toolchain
from .index import Index, absent_headers, linked_files, read_files
from .source import key_of, tier_of, unit

#: Statements of one translation unit: beyond this, two units on two cores are faster than one.
UNIT_SIZE = 40


def build(cases, jobs, work=None):
    """Drafts are written to the folder `work`, which is on the same disk as the cache.

    `{key: {"library": path} or {"outcome": …, "reason": …, "output": …}}`."""
    wanted = {key_of(case): case for case in cases}
    compiler = toolchain.find_compiler()
    if compiler is None:
        return {key: {"outcome": "unsupported", "reason": toolchain.NO_COMPILER} for key in wanted}
    torch = toolchain.torch_folder()
    folder = cache.folder("cpp", toolchain.digest(compiler, torch))
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
            answers.update(Build(compiler, torch, index, jobs).run(wanted, work or folder))
    return answers


class Build:
    """Compiles and links; a statement that fails is taken out, the others are tried again."""

    def __init__(self, compiler, torch, index, jobs):
        self.compiler = compiler
        self.flags = [
            *toolchain.FLAGS,
            *toolchain.whole_unit(compiler),
            *toolchain.torch_flags(torch),
        ]
        self.libraries = toolchain.torch_libraries(torch)
        self.index = index
        self.folder = index.folder
        self.jobs = max(1, jobs)

    def run(self, wanted, drafts):
        answers = {}
        for key, case in list(wanted.items()):
            broken = messages.brackets(case)
            if broken:
                answers[key] = broken
                del wanted[key]
        tiers = {key: tier_of(case) for key, case in wanted.items()}
        todo = units(wanted, tiers)
        objects = []
        with tempfile.TemporaryDirectory(dir=drafts) as work:
            while todo:
                done, todo = todo[: self.jobs], todo[self.jobs :]
                for (tier, members), (object_, output) in zip(done, self.compile(done, work)):
                    if object_ is not None:
                        objects.append((tier, members, object_))
                        continue
                    failed = messages.blamed(members, output)
                    if failed is None:  # no statement named: halve until one is left
                        todo += messages.halves(tier, members, output, answers)
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
                env={**os.environ, "TMPDIR": work},
            )
            running.append((process, stem + ".o"))
        return [
            (object_ if process.wait() == 0 else None, output)
            for process, object_, output in ((p, o, p.communicate()[0]) for p, o in running)
        ]

    def link(self, objects, work, libraries, place):
        """Link one library of all objects, move it into place, then write the index."""
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
            env={**os.environ, "TMPDIR": work},
        )
        if linked.returncode:
            return dict.fromkeys(keys, messages.linker_failure(linked.stdout))
        with open(draft, "rb") as stream:
            # Named by its content: an older one, of other headers, may still be in use.
            name = "opbench-%s.so" % hashlib.sha256(stream.read()).hexdigest()[:16]
        library = os.path.join(self.folder, name)
        os.replace(draft, library)
        copied = linked_files(linked.stdout, place) - {object_ for _, object_ in objects}
        for members, object_ in objects:
            stem = object_[: -len(".o")]
            files = read_files(stem + ".d", stem + ".cpp", place_of(members))
            own = build_of(next(iter(members.values())))
            searched = [*own["extra_include_paths"], own["folder"]]
            files |= absent_headers(files, [os.path.join(place_of(members), s) for s in searched])
            self.index.keep(members, name, files | copied)
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
    found = {**nothing, **(case.get("cpp_build") or {})}
    # On another machine the folder may be missing, and with it nothing that most statements need.
    return found if os.path.isdir(found["folder"]) else {**found, "folder": ""}


def place_of(members):
    return build_of(next(iter(members.values())))["folder"]


@contextlib.contextmanager
def locked(folder):
    """Of two runs that need the same library, the second waits and finds it built."""
    with open(os.path.join(folder, "lock"), "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def main():
    request = json.load(sys.stdin)
    jobs = request.get("jobs") or os.cpu_count() or 1
    answer = build(request["cases"], jobs, request.get("work"))
    json.dump(answer, sys.stdout)
