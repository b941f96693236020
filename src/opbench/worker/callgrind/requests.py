"""Client requests to Callgrind from inside the process it observes, without a compiler.

A client request is a sequence of instructions that does nothing on a processor and that Valgrind
recognises when it translates them. Here it is a few bytes of machine code on a page of their own,
called through ctypes with a pointer to six words: the request and its arguments. So instructions
can be counted in any interpreter and for every framework.
"""

import ctypes
import mmap
import os
import platform

#: The request as a function: takes a pointer to six words, returns Valgrind's answer, and zero
#: where there is no Valgrind. The rotations sum up to whole turns, so the register is unchanged.
MACHINE_CODE = {
    "x86_64": bytes.fromhex(
        "4889f8"  # mov rax, rdi       the six words
        "31d2"  # xor edx, edx         answer when not under Valgrind
        "48c1c703 48c1c70d 48c1c73d 48c1c733"  # rol rdi, 3, 13, 61, 51
        "4887db"  # xchg rbx, rbx      rdx = request(rax)
        "4889d0"  # mov rax, rdx
        "c3"
    ),
    "aarch64": bytes.fromhex(
        "e40300aa"  # mov x4, x0       the six words
        "030080d2"  # mov x3, 0        answer when not under Valgrind
        "8c0dcc93 8c35cc93 8ccdcc93 8cf5cc93"  # ror x12, x12, 3, 13, 51, 61
        "4a010aaa"  # orr x10, x10, x10    x3 = request(x4)
        "e00303aa"  # mov x0, x3
        "c0035fd6"  # ret
    ),
}
ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}

RUNNING_ON_VALGRIND = 0x1001
#: Callgrind's own requests are numbered from the letters "CT".
CALLGRIND = ord("C") << 24 | ord("T") << 16
ZERO, TOGGLE_COLLECT, DUMP_AT, START = (CALLGRIND + number for number in (1, 2, 3, 4))


#: Where the dumps of a worker's children go: the pattern given to Valgrind, without the pid.
OUT_VARIABLE = "OPBENCH_CALLGRIND_OUT"

PROT_READ, PROT_EXEC = 1, 4


class Missing(Exception):
    """Client requests are not possible here; the text says why."""


class Requests:
    """Client requests of this process."""

    def __init__(self):
        machine = platform.machine().lower()
        code = MACHINE_CODE.get(ALIASES.get(machine, machine))
        if code is None:
            raise Missing(
                "instruction counts need a Valgrind client request, which opbench has for "
                "%s, not for %s" % (" and ".join(MACHINE_CODE), machine)
            )
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        libc = ctypes.CDLL(None, use_errno=True)
        # Never writable and executable at once: hardened kernels refuse that.
        if libc.mprotect(ctypes.c_void_p(address), len(self._page), PROT_READ | PROT_EXEC):
            raise Missing("mprotect refused the page of code that calls Valgrind")
        _clear_instruction_cache(address, len(code))
        self._call = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p)(address)
        self._words = (ctypes.c_ulong * 6)()
        self._toggle = (ctypes.c_ulong * 6)(TOGGLE_COLLECT)
        self._toggle_at = ctypes.addressof(self._toggle)
        self.dumps = 0

    def ask(self, *words):
        self._words[:] = [*words, *[0] * (6 - len(words))]
        return self._call(ctypes.addressof(self._words))

    @property
    def under_valgrind(self):
        return bool(self.ask(RUNNING_ON_VALGRIND))

    def start(self):
        """Start instrumentation: costly, so once per worker, never per case."""
        self.ask(START)

    def toggle(self):
        """Start or stop collecting, with as little code around it as possible."""
        self._call(self._toggle_at)

    def zero(self):
        """Forget what was collected since the last dump."""
        self.ask(ZERO)

    def dump(self, name, kept=True):
        """Write what was collected since the last dump; returns the file. What is not kept is
        forgotten, and all else is done as if it were: the next count finds the same memory."""
        text = ctypes.create_string_buffer(name.encode())
        self.ask(DUMP_AT if kept else ZERO, ctypes.addressof(text))
        self.dumps += kept
        return "%s.%d.%d" % (os.environ[OUT_VARIABLE], os.getpid(), self.dumps)


def _clear_instruction_cache(address, size):
    """Processors other than x86 may still hold the former content of the page."""
    try:
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
    except (OSError, AttributeError):
        return  # x86, where there is nothing to clear
    clear(ctypes.c_void_p(address), ctypes.c_void_p(address + size))


_requests = None


def requests():
    """The requests of this process; created in the worker's parent, they serve its children too."""
    global _requests
    if _requests is None:
        _requests = Requests()
    return _requests
