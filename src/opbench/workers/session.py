"""The runner's handle on one child: requests, timeouts, pausing, and how it ended."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opbench.case import Case
from opbench.worker import protocol
from opbench.worker.cpp.source import key_of
from opbench.workers.pace import Pace

#: What a case tears down after its last sample is not waited for longer.
TEAR_DOWN_SECONDS = 10.0


class SessionEnded(Exception):
    """The code under test did not finish: the outcome, the reason, and its last output."""

    def __init__(self, outcome: str, reason: str, *, output: str = "", traceback: str = "") -> None:
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
        self.output = output
        self.traceback = traceback
        #: Whether the setup of the case ended it, whatever was to be measured.
        self.in_setup = False

    @classmethod
    def from_status(cls, status: int, output: str, *, oom: bool) -> SessionEnded:
        """The outcome behind the wait status of a process that ended unasked."""
        if oom:
            reason = "the kernel killed it because memory ran out"
            return cls("out_of_memory", reason, output=output)
        if os.WIFSIGNALED(status):
            try:
                name = signal.Signals(os.WTERMSIG(status)).name
            except ValueError:
                name = f"signal {os.WTERMSIG(status)}"
            return cls("crashed", name, output=output)
        code = os.WEXITSTATUS(status)
        return cls("failed", f"its process exited with status {code}", output=output)


class SessionHandle:
    """A handle on one live child. Every request returns an answer or raises SessionEnded."""

    def __init__(
        self,
        channel: protocol.Channel,
        pid: int,
        start: int,
        number: int,
        how_it_ended: Callable[[SessionHandle], SessionEnded],
        libraries: Mapping[str, str] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.channel = channel
        self.pid = pid
        self.start = start
        self.number = number
        self.ended: SessionEnded | None = None
        self._how_it_ended = how_it_ended
        #: Compiled statements by their key, for cases in C++.
        self._libraries = libraries or {}
        self._pace = pace or Pace()
        self._paused = False
        self._tears_down = False
        #: The last request: its operation, and the token that its answer must carry.
        self._asked = ("", "")
        #: Whether it ended by answering with an error, so that the child still lives.
        self._answered = False
        #: Whether it was closed; then its worker may be ended.
        self.closed = False

    def prepare(self, case: Case, seed: int, timeout: float) -> dict[str, Any]:
        self.begin_prepare(case, seed)
        return self.finish_prepare(timeout)

    def begin_prepare(self, case: Case, seed: int) -> None:
        """Let the child set up, without waiting for it: several can do so side by side."""
        message: dict[str, Any] = {"op": "prepare", "case": case.to_dict(), "seed": seed}
        if case.language == "cpp":
            message["library"] = self._libraries[key_of(message["case"])]
        self._send(message)

    def finish_prepare(self, timeout: float) -> dict[str, Any]:
        answer = self._receive(timeout)
        self._tears_down = answer.get("tears_down") is True
        return answer

    def warm_up(self, seconds: float, block_seconds: float, timeout: float) -> dict[str, Any]:
        self.begin_warm_up(seconds, block_seconds)
        return self.finish_warm_up(timeout)

    def begin_warm_up(self, seconds: float, block_seconds: float) -> None:
        self._send({"op": "warmup", "seconds": seconds, "block_seconds": block_seconds})

    def finish_warm_up(self, timeout: float) -> dict[str, Any]:
        return self._receive(timeout)

    def block(
        self,
        metric: str,
        n: int,
        timeout: float,
        cpu: int | None = None,
        untimed: int = 1,
        long: float = math.inf,
        refill: float | None = None,
        patience: float = 0.0,
        young: bool = False,
    ) -> dict[str, Any]:
        """On that CPU if nobody shares its core, else on another; with `patience`, in seconds, it
        waits for one, or is taken again. It begins with so many untimed calls, which wake the
        child; without them where it is known to take so `long`, and with more where the child is
        `young`. To `refill` the caches it begins with more calls, at least that share of `n`, and
        first blocks that fetch memory are taken again."""
        message: dict[str, Any] = {"op": "block", "metric": metric, "n": n, "untimed": untimed}
        message |= {} if cpu is None else {"cpu": cpu}
        message |= {"long": long} if math.isfinite(long) else {}
        message |= {} if refill is None else {"refill": refill}
        message |= {"young": True} if young else {}
        message |= {"quickest": self._pace.quickest, "patience": int(patience * 1e9)}
        answer = self.request(message, timeout + patience)
        self._pace.note(answer.get("quickest", 0))
        return answer

    def measure(self, metric: str, options: dict[str, Any], timeout: float) -> dict[str, Any]:
        options = {"quickest": self._pace.quickest, **options}
        answer = self.request({"op": "measure", "metric": metric, "options": options}, timeout)
        self._pace.note(answer.get("quickest", 0))
        return answer

    def exchange(self, case: Case, folder: str, inputs: list, timeout: float) -> dict[str, Any]:
        """Instead of `prepare`: one call on the given inputs; see `worker/parity`."""
        self.begin_exchange(case, folder, inputs)
        return self.finish_exchange(timeout)

    def begin_exchange(self, case: Case, folder: str, inputs: list, **files: str) -> None:
        """Without waiting for it. Of the `files`, the child that makes the inputs `announces` them
        in one, and a child that `awaits` it takes them from there."""
        message = {"op": "exchange", "case": case.to_dict(), "folder": folder, "inputs": inputs}
        self._send({**message, **files})

    def finish_exchange(self, timeout: float) -> dict[str, Any]:
        return self._receive(timeout)

    def request(self, message: dict[str, Any], timeout: float) -> dict[str, Any]:
        self._send(message)
        return self._receive(timeout)

    def _send(self, message: dict[str, Any]) -> None:
        if self.ended is not None:
            raise self.ended
        self.resume()
        self._asked = message["op"], secrets.token_hex(8)
        with self._noticed():
            self.channel.send({**message, "token": self._asked[1]})

    def _receive(self, timeout: float) -> dict[str, Any]:
        """The answer to the last request."""
        if self.ended is not None:
            raise self.ended
        with self._noticed(timeout):
            answer = self.channel.receive(timeout)
            protocol.check_answer(answer, *self._asked)
        if not answer.get("ok"):
            self._answered = True
            refusal = answer["error"]
            self.ended = SessionEnded(
                str(refusal.get("outcome", "failed")),
                str(refusal.get("reason", "no reason given")),
                traceback=str(refusal.get("traceback", "")),
            )
            raise self.ended
        return answer

    @contextlib.contextmanager
    def _noticed(self, timeout: float = 0.0) -> Iterator[None]:
        """What happens to the channel is how the session ended."""
        try:
            yield
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
            self.ended = SessionEnded(
                "failed",
                f"it, or a process it left running, wrote to the channel of its answers: {error}",
            )
            raise self.ended from None

    def recover(self) -> bool:
        """Continue with a child that answered with an error; False when it is gone."""
        if self.ended is not None and not self._answered:
            return False
        self.ended, self._answered = None, False
        return True

    def pause(self) -> None:
        """Stop the child: an idle sibling whose threads spin slows down the one that is timed."""
        if not self._paused and self.ended is None:
            self._paused = True
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Let the child exit, without running the framework's exit handlers; what the case has to
        tear down is torn down first, so that it does not disturb the next one."""
        if self._tears_down and not self.closed and self.ended is None:
            with contextlib.suppress(SessionEnded):  # its results are taken: they stand
                self.request({"op": "end"}, TEAR_DOWN_SECONDS)
        self.resume()
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
