"""Libraries that Valgrind cannot read, or reads for seconds, loaded from copies that it reads fast.

It reads how every function describes its stack frame, which Callgrind has no use for. The 18 MB of
torch's library take four seconds on x86. On aarch64, functions that use scalable vectors describe
it with expressions on which the reader (seen with 3.19) fails an assertion, and the process dies
while the library is being mapped. Valgrind finds those descriptions by the name of their section;
the C++ runtime, by the program headers. So a copy in which the section has another name behaves the
same. The copies are loaded first; whatever needs the library later gets the one in memory. This
happens when a package is first imported, by whatever imports it: the worker, a case, or another
package.
"""

import contextlib
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import mmap
import os
import platform
import shutil
import struct
import sys
import tempfile
import traceback

#: `bregx 46, 0`: the vector length, in an expression that computes a stack frame.
VECTOR_LENGTH = b"\x92\x2e\x00"
SECTION = ".eh_frame"
#: Bytes of it that Valgrind reads in a second.
LARGE = 4 << 20
ARM = platform.machine() == "aarch64"


def watch(cache):
    """Have every package load readable copies of its libraries when it is imported."""
    sys.meta_path.insert(0, ImportWatch(cache))


class ImportWatch:
    """A finder that only finds extension modules which Valgrind cannot read: as their copies."""

    def __init__(self, cache):
        self.cache = cache
        self._seen = set(getattr(sys, "stdlib_module_names", ()))

    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in self._seen:
            self._seen.add(package)
            load(package, self.cache)
        if not ARM:  # where every extension can be read, to find each twice costs more
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader = importlib.machinery.ExtensionFileLoader
        if found is None or not isinstance(found.loader, loader) or not hard_to_read(found.origin):
            return None
        return importlib.util.spec_from_file_location(name, copy_of(found.origin, self.cache))


def load(package, cache):
    """Load readable copies of the libraries that the package brings along."""
    loaded = []
    for folder in folders(package):
        copies = copies_of(folder, cache)
        for name in sorted(os.listdir(copies)):
            path = os.path.join(copies, name)
            if not os.path.islink(path):
                with contextlib.suppress(OSError):  # one that is optional, and lacks another
                    ctypes.CDLL(path)
                    loaded.append(path)
    return loaded


def folders(package):
    """Where the package keeps its libraries: `torch/lib`, `numpy.libs`, `jaxlib`."""
    found = []
    for entry in sys.path:
        for below in (os.path.join(package, "lib"), package + ".libs", package):
            folder = os.path.join(entry, below)
            if folder not in found and libraries(folder):
                found.append(folder)
    return found


def libraries(folder):
    """Its shared libraries; extension modules are found by their import."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if name.startswith("lib") and ".so" in name]


def copy_of(path, cache):
    """The readable copy of one extension module."""
    facts = os.stat(path)
    text = repr([path, facts.st_size, facts.st_mtime_ns])
    folder = os.path.join(cache, "shadow-" + hashlib.sha256(text.encode()).hexdigest()[:16])
    copy = os.path.join(folder, os.path.basename(path))
    if not os.path.isfile(copy):

        def write():
            os.makedirs(folder, exist_ok=True)
            draft = tempfile.mkstemp(dir=folder)[1]
            copy_without_section(path, draft)
            os.replace(draft, copy)

        elsewhere(write)
    return copy


def copies_of(folder, cache):
    """A folder with links to the readable libraries and copies of the others."""
    files = libraries(folder)
    facts = [(name, os.stat(os.path.join(folder, name))) for name in files]
    text = repr([folder, [(name, s.st_size, s.st_mtime_ns) for name, s in facts]])
    copies = os.path.join(cache, "shadow-" + hashlib.sha256(text.encode()).hexdigest()[:16])
    if not os.path.isdir(copies):

        def write():
            os.makedirs(cache, exist_ok=True)
            draft = tempfile.mkdtemp(dir=cache)
            for name in files:
                path = os.path.join(folder, name)
                if hard_to_read(path):
                    copy_without_section(path, os.path.join(draft, name))
                else:
                    os.symlink(path, os.path.join(draft, name))
            try:
                os.rename(draft, copies)
            except OSError:  # another worker was faster
                shutil.rmtree(draft)

        elsewhere(write)
    return copies


def elsewhere(write):
    """Do it in a child: what it would leave in the memory of this process, counts would show."""
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        if status:
            raise OSError("libraries could not be copied for Valgrind (status %d)" % status)
        return
    status = 1
    try:
        write()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def hard_to_read(path):
    with open(path, "rb") as stream:
        if stream.read(5) != b"\x7fELF\x02":
            return False
        with mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as data:
            return any(
                size >= LARGE or (ARM and data.find(VECTOR_LENGTH, offset, offset + size) >= 0)
                for _header, offset, size in sections(data, SECTION)
            )


def copy_without_section(path, target):
    shutil.copyfile(path, target)
    with open(target, "r+b") as stream, mmap.mmap(stream.fileno(), 0) as data:
        for header, _offset, _size in list(sections(data, SECTION)):
            (name,) = struct.unpack_from("<I", data, header)
            struct.pack_into("<I", data, header, name + 1)  # "eh_frame", without the dot
        data.flush()


def sections(data, wanted):
    """(position of its header, position of its content, size) of each section of that name."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [table + index * entry for index in range(count)]
    if not headers:
        return
    (names,) = struct.unpack_from("<Q", data, headers[names_at] + 24)
    for header in headers:
        name, _kind, _flags, _address, offset, size = struct.unpack_from("<IIQQQQ", data, header)
        end = data.find(b"\0", names + name)
        if data[names + name : end] == wanted.encode():
            yield header, offset, size
