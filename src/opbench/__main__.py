"""The `opbench` command, and `python -m opbench`."""

import signal


def main() -> None:
    # Until the command is imported and handles it, Ctrl-C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from opbench.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
