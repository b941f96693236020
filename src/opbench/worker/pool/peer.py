"""Who is at the other end of a socket, and whether we may work for it.

A worker inherits the user, the namespaces, the privileges and the limits of whoever starts it. The
supervisor can copy some of that (see `surroundings`), not the rest: a client that differs from the
supervisor in the rest is refused and starts its own workers. Otherwise a process in a sandbox could
have its work done outside of it, or a measurement could run under limits that are not its own.
"""

import os
import socket
import struct

#: Of /proc/PID/status: user, groups, privileges, filters of system calls.
STATUS = ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
#: Of each control group, version 2.
LIMITS = ("cpu.max", "cpu.weight", "cpuset.cpus.effective", "memory.max", "memory.high")
#: Of version 1, by controller.
LIMITS_1 = {
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"),
    "cpuset": ("cpuset.effective_cpus",),
    "memory": ("memory.limit_in_bytes", "memory.soft_limit_in_bytes"),
}
#: What a group says that limits nothing: the usual weight, time and period, no limit.
NO_LIMIT = ("max", "max 100000", "100", "-1", "100000", "1024", "9223372036854771712")
CGROUPS = "/sys/fs/cgroup"


def credentials(sock):
    """(pid, uid) of the process that connected or listens at the other end."""
    size = struct.calcsize("3i")
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _gid = struct.unpack("3i", found)
    return pid, uid


def confinement(pid):
    """What a process has that cannot be handed on to one that it did not start; OSError if gone."""
    proc = "/proc/%s" % pid
    with open(proc + "/status") as lines:
        pairs = (line.split(":", 1) for line in lines)
        found: dict = {name: value.split() for name, value in pairs if name in STATUS}
    for name in NAMESPACES:
        try:
            found["namespace " + name] = os.readlink("%s/ns/%s" % (proc, name))
        except FileNotFoundError:
            continue  # an older kernel
    try:
        with open(proc + "/personality") as text:
            found["personality"] = text.read().strip()  # switches address randomisation off
    except OSError:
        pass
    with open(proc + "/cgroup") as lines:
        for line in lines:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if not controllers:
                found["limits of the control group"] = group_limits(CGROUPS, path, LIMITS)
            for controller in LIMITS_1.keys() & set(controllers.split(",")):
                limits = group_limits(os.path.join(CGROUPS, controller), path, LIMITS_1[controller])
                found["limits of the control group (%s)" % controller] = limits
    return found


def group_limits(root, path, names):
    """The limits of a control group and of those around it. Two groups with the same limits, as
    every terminal and every service may have one of its own, are alike."""
    found = []
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), 0, -1):
        group = os.path.join(root, *parts[:depth])
        for name in names:
            try:
                with open(os.path.join(group, name)) as text:
                    value = text.read().strip()
            except OSError:
                continue
            if value not in NO_LIMIT:
                found.append([name, value])
    return found


def difference(ours, theirs):
    """The names of what two processes do not have in common."""
    return sorted(name for name in set(ours) | set(theirs) if ours.get(name) != theirs.get(name))
