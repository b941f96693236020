"""What the kernel and torch count of this process: memory, pages, processor time, waiting."""

import os
import resource
import sys
import time


def peak_bytes():
    """The peak memory of this child, pages shared with the parent included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def device_bytes():
    """[peak memory reserved on the GPU, total memory of the GPU]; zeros if no GPU is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return [0, 0]
    return [torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1]]


def pages_fetched():
    """Of memory that this process had not touched before, or had given back."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def involuntary_switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def voluntary_switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def cpu_ns():
    return time.process_time_ns()


def queued_ns():
    """How long the threads of this process have waited for a core, all of them together. Zero where
    the kernel does not say."""
    waited = 0
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return 0
    for thread in threads:
        try:
            file = os.open("/proc/self/task/%s/schedstat" % thread, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # it has ended
        try:
            waited += int(os.read(file, 100).split()[1])
        except (OSError, IndexError, ValueError):
            pass
        finally:
            os.close(file)
    return waited


def cores():
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))
