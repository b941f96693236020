"""The runner's handle on one child: ask it, time it out, stop and wake it, explain its end."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from opbench.case import Case
from opbench.worker import protocol
from opbench.worker.cpp.source import key_of


class SessionEnded(Exception):
    """The code under test did not deliver: the outcome, why, and what it printed last."""

    def __init__(self, outcome: str, reason: str, *, output: str = "", traceback: str = "") -> None:
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
        self.output = output
        self.traceback = traceback
        #: Whether it was the set-up of the case that ended so, whatever was to be measured.
        self.in_setup = False

    @classmethod
    def from_status(cls, status: int, output: str, *, oom: bool) -> SessionEnded:
        """The outcome behind the wait status of a process nobody asked to end."""
        if oom:
            reason = "the kernel ended it because memory ran out"
            return cls("out_of_memory", reason, output=output)
        if os.WIFSIGNALED(status):
            try:
                name = signal.Signals(os.WTERMSIG(status)).name
            except ValueError:
                name = f"signal {os.WTERMSIG(status)}"
            return cls("crashed", name, output=output)
        code = os.WEXITSTATUS(status)
        return cls("failed", f"its process exited with status {code}", output=output)


class Session:
    """One live child. Every request either returns an answer or raises SessionEnded."""

    def __init__(
        self,
        channel: protocol.Channel,
        pid: int,
        start: int,
        number: int,
        how_it_ended: Callable[[Session], SessionEnded],
        libraries: Mapping[str, str] | None = None,
    ) -> None:
        self.channel = channel
        self.pid = pid
        self.start = start
        self.number = number
        self.ended: SessionEnded | None = None
        self._how_it_ended = how_it_ended
        #: Compiled statements by their key, for cases in C++.
        self._libraries = libraries or {}
        self._paused = False
        #: Whether it ended with an answer, so that the child itself still lives.
        self._answered = False
        #: Whether it was told to end; then its worker can do without it.
        self.closed = False

    def prepare(self, case: Case, seed: int, timeout: float) -> dict[str, Any]:
        message: dict[str, Any] = {"op": "prepare", "case": case.to_dict(), "seed": seed}
        if case.language == "cpp":
            message["library"] = self._libraries[key_of(message["case"])]
        return self.request(message, timeout)

    def warm_up(self, seconds: float, block_seconds: float, timeout: float) -> dict[str, Any]:
        message = {"op": "warmup", "seconds": seconds, "block_seconds": block_seconds}
        return self.request(message, timeout)

    def block(self, metric: str, n: int, timeout: float) -> dict[str, Any]:
        return self.request({"op": "block", "metric": metric, "n": n}, timeout)

    def measure(self, metric: str, options: dict[str, Any], timeout: float) -> dict[str, Any]:
        return self.request({"op": "measure", "metric": metric, "options": options}, timeout)

    def exchange(self, case: Case, folder: str, given: list, timeout: float) -> dict[str, Any]:
        """In place of `prepare`: one call on the given inputs; see `worker/parity`."""
        message = {"op": "exchange", "case": case.to_dict(), "folder": folder, "given": given}
        return self.request(message, timeout)

    def request(self, message: dict[str, Any], timeout: float) -> dict[str, Any]:
        if self.ended is not None:
            raise self.ended
        self.wake()
        try:
            self.channel.send(message)
            answer = protocol.check_answer(self.channel.receive(timeout), message["op"])
        except protocol.Silent:
            self.kill()
            self.ended = SessionEnded("timeout", f"no answer within {timeout:g} s")
            raise self.ended from None
        except protocol.Closed:
            if self.ended is None:
                self.ended = self._how_it_ended(self)
            raise self.ended from None
        except protocol.ProtocolError as error:
            self.kill()
            self.ended = SessionEnded("failed", f"it wrote into the harness's channel: {error}")
            raise self.ended from None
        if not answer.get("ok"):
            self._answered = True
            said = answer["error"]
            self.ended = SessionEnded(
                str(said.get("outcome", "failed")),
                str(said.get("reason", "it did not say why")),
                traceback=str(said.get("traceback", "")),
            )
            raise self.ended
        return answer

    def forgive(self) -> bool:
        """Go on with a child that said no but is still there; False when it is gone."""
        if self.ended is not None and not self._answered:
            return False
        self.ended, self._answered = None, False
        return True

    def pause(self) -> None:
        """Stop the child: an idle sibling whose threads spin slows down the one that is timed."""
        if not self._paused and self.ended is None:
            self._paused = True
            self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        if self._paused:
            self._paused = False
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End the child politely; it leaves without running the framework's exit handlers."""
        self.wake()
        self.closed = True
        self.channel.close()

    def kill(self) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        self.closed = True
        self.channel.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
