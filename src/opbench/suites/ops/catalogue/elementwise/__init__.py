"""Functions of elements, one by one."""
