"""Which library holds a compiled statement, and whether it still does.

An entry names a library and a list of every file that the compiler read for it, headers of the
system and of torch included, each with a hash of its content. It holds while all of them are
unchanged. A statement may have several: a header can be switched back and forth.
"""

import hashlib
import json
import os
import re

#: Entries kept of one statement, the latest first: two commits, and two more.
ENTRIES = 4
#: A rule that `-MD` writes: words end at a space that is not escaped.
WORD = re.compile(r"(?:\\.|[^\\\s])+")


class Index:
    def __init__(self, folder):
        self.folder = folder
        self._digests = {}  # path -> hash of its content, read once
        self._unchanged = {}  # name of a list -> whether its files are unchanged

    def find(self, key):
        """The library that holds the statement; None if there is none, or a file has changed."""
        for library, files in self._entries(key):
            path = os.path.join(self.folder, library)
            if os.path.isfile(path) and self._holds(files):
                return path
        return None

    def keep(self, keys, library, files):
        """Enter a library for these statements; `files` are what the compiler read."""
        listed = json.dumps({path: self._digest(path) for path in sorted(files)})
        name = "files-" + hashlib.sha256(listed.encode()).hexdigest()[:16]
        self._write(name, listed)
        for key in keys:
            entries = [[library, name], *(e for e in self._entries(key) if e[1] != name)]
            self._write(key, json.dumps(entries[:ENTRIES]))

    def _entries(self, key):
        try:
            with open(os.path.join(self.folder, key)) as stream:
                return json.load(stream)
        except (OSError, ValueError):
            return []

    def _holds(self, name):
        if name not in self._unchanged:
            try:
                with open(os.path.join(self.folder, name)) as stream:
                    listed = json.load(stream)
            except (OSError, ValueError):
                listed = {"": "missing"}
            self._unchanged[name] = all(
                self._digest(path) == digest for path, digest in listed.items()
            )
        return self._unchanged[name]

    def _digest(self, path):
        if path not in self._digests:
            try:
                with open(path, "rb") as stream:
                    self._digests[path] = hashlib.blake2b(stream.read(), digest_size=12).hexdigest()
            except OSError:
                self._digests[path] = ""
        return self._digests[path]

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w") as stream:
            stream.write(text)
        os.replace(path + ".new", path)


def read_files(path, besides, folder=""):
    """The files that the compiler read, from the rule it wrote to `path`, without `besides`."""
    with open(path) as stream:
        _target, _, rule = stream.read().replace("\\\n", " ").partition(": ")
    words = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in WORD.findall(rule))
    files = {os.path.abspath(os.path.join(folder, word)) for word in words}
    return files - {os.path.abspath(besides)}


def absent_headers(files, searched):
    """Files that would have been read in the place of others, had they been there: a folder that is
    searched earlier has none of that name. Their content is that of no file."""
    searched = [os.path.abspath(folder) for folder in searched]
    absent: set = set()
    for path in files:
        for place, folder in enumerate(searched):
            name = os.path.relpath(path, folder)
            if name.startswith(os.pardir + os.sep):
                continue
            absent.update(os.path.join(earlier, name) for earlier in searched[:place])
            break
    return {path for path in absent if not os.path.lexists(path)}


def linked_files(output, folder=""):
    """The archives and objects that the linker read, from what `--trace` printed: their code is
    copied."""
    names = (re.sub(r"^\((.+)\).*$|^(.+\.a)\(.*$", r"\1\2", line) for line in output.splitlines())
    copied = {name for name in names if name.endswith((".a", ".o"))}
    paths = {os.path.abspath(os.path.join(folder, name)) for name in copied}
    return {path for path in paths if os.path.isfile(path)}
