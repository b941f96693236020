"""What a worker inherits from the command that starts it, as data, and how to give it to another.

All of it is part of the key of a pooled start: two commands share starts only if workers that they
started themselves would have been started alike.
"""

import os
import resource

#: Variables that describe a terminal, a shell or a login, and change without changing the work.
#: They are left out, not passed on: a value of another terminal would be worse than none.
LEFT_OUT = {
    *("_", "SHLVL", "PWD", "OLDPWD", "PS1", "PROMPT_COMMAND", "PYTEST_CURRENT_TEST"),
    *("TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM"),
    *("COLUMNS", "LINES", "VTE_VERSION", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "SSH_TTY"),
    *("SSH_CLIENT", "SSH_CONNECTION", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "INVOCATION_ID"),
}


def variables(environ):
    return {name: value for name, value in environ.items() if name not in LEFT_OUT}


def collect():
    """The surroundings of this process, except for its environment variables."""
    mask = os.umask(0o077)
    os.umask(mask)
    return {
        "cwd": os.getcwd(),
        "umask": mask,
        "nice": os.nice(0),
        "affinity": sorted(os.sched_getaffinity(0)),
        "limits": {str(number): list(resource.getrlimit(number)) for number in limits()},
    }


def take(wanted):
    """Make them those of this process; OSError or ValueError where that is not allowed."""
    for number, (soft, hard) in wanted["limits"].items():
        if resource.getrlimit(int(number)) != (soft, hard):
            resource.setrlimit(int(number), (soft, hard))
    os.sched_setaffinity(0, wanted["affinity"])
    if wanted["nice"] != os.nice(0):
        os.nice(wanted["nice"] - os.nice(0))
    os.umask(wanted["umask"])


def limits():
    names = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    return sorted({getattr(resource, name) for name in names})
