"""The files that a start was made of: when one changes, the start runs yesterday's code."""

import os
import sys

#: What an installer adds, removes or rewrites when it changes a package of a folder.
RECORDS = (".dist-info", ".egg-info", ".egg-link", ".pth")


def loaded():
    """The modules and libraries of this process and the records of all installed packages, with
    what tells one version of a file from the next."""
    paths = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths |= {sys.executable, *libraries(), *records()}
    return {path: state(path) for path in paths if isinstance(path, str)}


def changed(known):
    """Whether a file is no longer what it was, or a package was installed since."""
    if not records() <= set(known):
        return True
    return any(state(path) != before for path, before in known.items())


def state(path):
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_mtime_ns, about.st_size, about.st_ino)


def libraries():
    """The shared libraries that are mapped into this process."""
    found = set()
    try:
        with open("/proc/self/maps") as lines:
            for line in lines:
                path = line.rstrip("\n").partition("/")
                if path[1] and ".so" in path[2]:
                    found.add("/" + path[2])
    except OSError:
        pass
    return found


def records():
    found = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue  # a zip file, or nothing
        found |= {os.path.join(folder, name) for name in names if name.endswith(RECORDS)}
    return found
