"""The folder of the supervisor's socket: of this user, closed to all others.

It is opened once, checked through the open descriptor, and used through it, so nobody can put
another folder in its place between the check and the use. The path through the descriptor is also
short, as the address of a socket must be.
"""

import os
import stat

SOCKET = "socket"
LOCK = "lock"


class Unsafe(Exception):
    """The folder is not this user's alone; the message is one line for the user."""


def path():
    """`$XDG_RUNTIME_DIR/opbench`, or a folder of this user in /tmp."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime) and os.path.isdir(runtime):
        return os.path.join(runtime, "opbench")
    return "/tmp/opbench-%d" % os.getuid()


class Folder:
    def __init__(self, where):
        """Opens the folder, made if need be; raises Unsafe unless it is ours alone."""
        self.path = where
        try:
            os.mkdir(where, 0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise Unsafe("%s cannot be made: %s" % (where, error.strerror)) from None
        try:
            self._fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise Unsafe("%s is not a folder of yours: %s" % (where, error.strerror)) from None
        about = os.fstat(self._fd)
        if about.st_uid != os.getuid():
            self.close()
            raise Unsafe("%s belongs to another user" % where)
        if stat.S_IMODE(about.st_mode) & 0o077:
            self.close()
            raise Unsafe("%s is open to other users; fix: chmod 700 %s" % (where, where))

    def entry(self, name):
        return "/proc/self/fd/%d/%s" % (self._fd, name)

    def close(self):
        os.close(self._fd)
