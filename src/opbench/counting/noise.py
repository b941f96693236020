"""Which instructions are noise: those whose number depends on memory addresses.

How long an allocator searches, and how many slots of a hash table are probed, differ between two
processes that do the same. These functions are recognised by name.
"""

from __future__ import annotations

import re

from opbench.counting.profile import Function, Profile

ALLOCATOR = re.compile(
    r"(malloc|calloc|realloc|free|cfree|memalign|posix_memalign|aligned_alloc|reallocarray"
    r"|(__libc|_int)_\w*(alloc|align|free)\w*|_mid_memalign|malloc_\w+|unlink_chunk|sysmalloc"
    r"|systrim|tcache_\w+|arena_get\w*|alloc_perturb|_?mi_\w+|c10::(alloc|free)_cpu\(.*"
    r"|blas_memory_\w+"
    r"|_?Py(Object|Mem)_(Raw)?(Malloc|Calloc|Realloc|Free)|_PyMem_\w+|pymalloc_\w+"
    r"|(new|address_in)_arena\w*|arena_map\w*|allocate_from_new_pool|insert_to_\w+pool)"
)
HASH_TABLE = re.compile(
    r"(unicodekeys_lookup_\w+|dictkeys_\w*lookup\w*|lookdict\w*|_Py_dict_lookup\w*"
    r"|find_empty_slot|insertdict|insert_to_emptydict|insertion_resize|dictresize|build_indices\w*"
    r"|compare_(unicode|generic)\w*|set_(lookkey|add_entry|insert_clean|table_resize)\w*"
    # Methods are looked up in a table by the address of their name: two names may share a slot.
    r"|_PyType_Lookup|find_name_in_mro)"
)
#: Entry points of allocators.
ENTRY = re.compile(
    r"malloc|calloc|realloc|memalign|posix_memalign|aligned_alloc|mi_(malloc|calloc|zalloc)\w*"
    r"|_?PyObject_(Malloc|Calloc|Realloc)|c10::alloc_cpu\(.*"
)
#: Without debug symbols of the C library (libc6-dbg) its static functions have no names; those
#: that the code under test calls belong to its allocator.
NAMELESS = ("libc.so", "ld-linux-x86-64.so", "ld-linux-aarch64.so")


def noise(function: Function) -> bool:
    """Whether its count depends on addresses rather than on the code under test."""
    if function.name == "???":
        return function.object in NAMELESS
    return bool(ALLOCATOR.fullmatch(function.name) or HASH_TABLE.fullmatch(function.name))


def allocations(profile: Profile) -> int:
    """Calls of an allocator from outside of it."""
    return sum(
        count
        for (caller, callee), count in profile.calls.items()
        if ENTRY.fullmatch(callee.name) and not ALLOCATOR.fullmatch(caller.name)
    )
