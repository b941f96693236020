"""The driver of a fleet: hands out parcels, hears of results and deaths, keeps each result once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opbench.case import Case
from opbench.errors import UserError
from opbench.fleet import shipment
from opbench.fleet.cluster import Cluster, Lost
from opbench.fleet.nodes import Node, check_versions, chosen
from opbench.fleet.options import Fleet
from opbench.fleet.parcels import Parcel, parcels
from opbench.fleet.schedule import GivenUp, Schedule, Task
from opbench.fleet.seats import MOST_FAILED_STARTS, Seat, seats_of
from opbench.plan.groups import placed
from opbench.plan.metrics import metrics
from opbench.plan.request import Request
from opbench.result import Key, Metric, Result
from opbench.running.listener import FleetState, Listener
from opbench.sampling import outcome
from opbench.workers.session import SessionEnded

#: How often the list of nodes is read while nothing happens.
LOOK_SECONDS = 2.0
#: How long a fleet without any node waits for one: a machine that starts again, an autoscaler.
PATIENCE_SECONDS = 120.0

#: Stores what one node measured together, and the facts of its environments; False when as many
#: nodes as asked for have done so already.
KeepGroup = Callable[[Sequence[tuple[Case, Result]], Mapping[str, dict[str, Any]], int], bool]


class FleetExecutor:
    """Runs a request over a cluster; `prepare` finds every mistake before anything is measured."""

    def __init__(
        self,
        request: Request,
        fleet: Fleet,
        keep: KeepGroup,
        listener: Listener | None = None,
        earlier: Collection[tuple[Case, Result]] = (),
    ) -> None:
        self.request = request
        self.fleet = fleet
        self.keep = keep
        self.listener = listener or Listener()
        groups = placed(request.groups, request.environments, request.framework_envs)
        self.parcels = parcels(groups, self.metrics())
        self._by_hash = {case.hash: case for case in request.cases}
        self._results: dict[Key, tuple[Case, Result]] = {}
        self._seats: list[Seat] = []
        self._left_out: dict[str, str] = {}
        self._lost = 0
        self._failed = 0
        self._looked = 0.0
        self._alone_since: float | None = None
        self._idle_since: float | None = None
        self._known: list[Node] = []
        self.cluster: Cluster | None = None
        self.schedule = Schedule(
            self.parcels,
            replicas=fleet.replicas,
            retries=fleet.retries,
            done=_nodes_that_have(earlier, request.policy.text),
        )

    @property
    def results(self) -> list[tuple[Case, Result]]:
        return list(self._results.values())

    @property
    def environments(self) -> dict[str, dict[str, Any]]:
        return {}  # they come with each group

    def facts_of_run(self) -> dict[str, Any]:
        return {"fleet": {node.name: dict(node.facts) for node in self._known}}

    def metrics(self) -> list[Metric]:
        return [metrics()[name] for name in self.request.metrics]

    # -- before ----------------------------------------------------------------------------

    def prepare(self) -> None:
        from opbench import __version__

        places = list(dict.fromkeys(slot.environment for p in self.parcels for slot in p.slots))
        shipment.names_of(places)
        told = {
            "policy": shipment.policy_to_dict(self.request.policy),
            "environments": [shipment.environment_to_dict(place) for place in places],
            "files": shipment.files_of(self.request.cases),
            "preload": self._preloads(),
            "cpus": list(self.request.cpus),
            "jobs": self.request.jobs,
            "seed": self.request.seed,
        }
        self.cluster = Cluster.connect(self.fleet.on)
        try:
            self._known = chosen(self._usable(self.cluster.nodes()), self.fleet.require)
            check_versions(self._known, __version__)
            self._check(self._known)
            self._told = self.cluster.share(told)
        except BaseException:
            self.cluster.close()
            raise

    def _usable(self, nodes: Sequence[Node]) -> list[Node]:
        """Those with a device that the plan needs; a head without processors is none of them."""
        found = [node for node in nodes if self._devices() & _devices_of(node)]
        for device in sorted(self._devices()):
            if not any(device in _devices_of(node) for node in found):
                raise UserError(f"no node of the fleet offers Ray a {device.upper()}")
        return found

    def _check(self, nodes: Sequence[Node]) -> None:
        for device in sorted(self._devices()):
            able = [node for node in nodes if device in _devices_of(node)]
            if len(able) < self.fleet.replicas:
                raise UserError(
                    f"--replicate-on {self.fleet.replicas} needs as many nodes; there "
                    f"{'is' if len(able) == 1 else 'are'} {len(able)} that will do"
                )

    def _devices(self) -> set[str]:
        return {parcel.device for parcel in self.parcels}

    def _preloads(self) -> dict[str, list[str]]:
        """One kind of worker then serves all cases of a framework, as on one machine."""
        found: dict[str, dict[str, None]] = {}
        for case in self.request.cases:
            found.setdefault(case.framework, {}).update(dict.fromkeys(case.preload))
        return {framework: list(modules) for framework, modules in found.items()}

    # -- the loop --------------------------------------------------------------------------

    def run(self) -> list[tuple[Case, Result]]:
        """KeyboardInterrupt passes through after the agents are ended."""
        if self.cluster is None:
            self.prepare()
        assert self.cluster is not None
        self._deadline = time.monotonic() + self.request.budget if self.request.budget else None
        try:
            while not self.schedule.over:
                self._staff()
                self._hand_out()
                self._tell()
                self._collect()
            self._tell()
        finally:
            for seat in self._seats:
                if seat.agent is not None:
                    self.cluster.end(seat.agent)
            self.cluster.close()
        return self.results

    def _staff(self) -> None:
        """A seat for every device of every node that will do; dead ones are cleared."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        assert self.cluster is not None
        nodes = [node for node in self.cluster.nodes(0.0) if self._will_do(node)]
        alive = {node.id for node in nodes}
        for seat in [seat for seat in self._seats if seat.node.id not in alive]:
            self._vacate(seat, f"node {seat.node.name} is gone")
            self._seats.remove(seat)
        known = {seat.node.id for seat in self._seats} | set(self._left_out)
        for node in nodes:
            if node.id not in known:
                self._seats += seats_of(node, self.fleet.slots, self._devices())
        for seat in self._seats:
            if seat.agent is None:
                self._start(seat)
        self._wait_for_somebody(now)

    def _will_do(self, node: Node) -> bool:
        """Also for one that joined later: nobody is there to be told that it does not."""
        from opbench import __version__

        return node.meets(self.fleet.require) and node.facts.get("opbench") == __version__

    def _wait_for_somebody(self, now: float) -> None:
        if self._seats:
            self._alone_since = None
            return
        self._alone_since = self._alone_since or now
        if now - self._alone_since > PATIENCE_SECONDS or self._left_out:
            why = "; ".join(self._left_out.values()) or "no node has come back"
            raise UserError(
                f"the fleet has no node left ({why}); what was finished is kept: continue with "
                "--cont"
            )

    def _start(self, seat: Seat) -> None:
        assert self.cluster is not None
        seat.agent = self.cluster.start_agent(seat.node, self._told, cpus=seat.cpus, gpus=seat.gpus)
        seat.reference = seat.agent.ready.remote()

    def _hand_out(self) -> None:
        for seat in self._seats:
            if not seat.idle:
                continue
            beside = [other for other in self._seats if other.node.id == seat.node.id]
            if any(other.counting for other in beside):
                continue  # whoever is timed beside a count is timed wrongly
            others = {s.node.name for s in self._seats if s.device == seat.device}
            taken = self.schedule.take(seat.node.name, seat.device, timed=True, nodes=others)
            resting = not any(other.ticket is not None for other in beside)
            if taken is None and seat.device == "cpu" and resting:
                # Counts come last on each node, and use as much of it as they like.
                taken = self.schedule.take(seat.node.name, "cpu", timed=False, nodes=others)
            if taken is not None:
                self._send(seat, *taken)

    def _send(self, seat: Seat, ticket: int, task: Task) -> None:
        seat.ticket, seat.counting = ticket, not task.parcel.timed
        told = shipment.parcel_to_dict(task.parcel)
        seat.reference = seat.agent.measure.remote(told, self._seconds())
        self.listener.measuring([slot.case for slot in task.parcel.slots])

    def _seconds(self) -> float | None:
        """A parcel's share of what is left of the budget."""
        if self._deadline is None:
            return None
        left = max(0.0, self._deadline - time.monotonic())
        return left * len(self._seats) / max(1, self.schedule.waiting + self.schedule.running)

    def _collect(self) -> None:
        assert self.cluster is not None
        waiting = {seat.reference: seat for seat in self._seats if seat.reference is not None}
        if not waiting:
            self._nobody_works()
            return
        self._idle_since = None
        for reference in self.cluster.wait(list(waiting), LOOK_SECONDS):
            seat = waiting[reference]
            try:
                answer = self.cluster.answer(reference)
            except Lost as lost:
                self._vacate(seat, f"on node {seat.node.name}: {lost}")
                self._looked = 0.0  # its node may be gone as well
                continue
            except Exception as error:
                self._went_wrong(seat, error)
                continue
            seat.reference = None
            if seat.ticket is None:
                seat.failed_starts = 0
                continue
            ticket, seat.ticket, seat.counting = seat.ticket, None, False
            self._arrived(seat.node, self.schedule.done(ticket), answer)

    def _nobody_works(self) -> None:
        """Agents are there, and none may take what waits: replicas need other nodes, or GPUs."""
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if self._seats and now - self._idle_since > PATIENCE_SECONDS:
            why = "no node is left that could take it; continue with --cont when there is one"
            for given_up in self.schedule.abandon(why):
                self._give_up(given_up)
        time.sleep(0.1)

    def _went_wrong(self, seat: Seat, error: Exception) -> None:
        """The agent lives and says no: a mistake of ours, which must not be repeated for ever."""
        if seat.ticket is None:
            self._vacate(seat, f"on node {seat.node.name}: {error}")
            return
        ticket, seat.ticket, seat.counting, seat.reference = seat.ticket, None, False, None
        said = (str(error).strip().splitlines() or [""])[0]
        task = self.schedule.done(ticket)
        self._give_up(GivenUp(task, f"node {seat.node.name}: {type(error).__name__}: {said}"))

    def _vacate(self, seat: Seat, why: str) -> None:
        """Its agent is gone: what it had goes back, and another one may sit here."""
        assert self.cluster is not None
        started = not seat.starting
        if seat.ticket is not None:
            given_up = self.schedule.died(seat.ticket, why)
            self._lost += 1
            if given_up is not None:
                self._give_up(given_up)
        if seat.agent is not None:
            self.cluster.end(seat.agent)
        seat.agent = seat.reference = seat.ticket = None
        seat.counting = False
        seat.failed_starts = 0 if started else seat.failed_starts + 1
        if seat.failed_starts >= MOST_FAILED_STARTS:
            self._left_out[seat.node.id] = f"node {seat.node.name} is left out: {why}"
            self._seats = [one for one in self._seats if one.node.id != seat.node.id]

    # -- results ---------------------------------------------------------------------------

    def _arrived(self, node: Node, task: Task, answer: Mapping[str, Any]) -> None:
        pairs = []
        for told in answer["results"]:
            result = shipment.result_from_dict(told)
            # Blocks of one group were interleaved on one node: on another they were others.
            group = f"{result.group} on {node.name}" if result.group else ""
            result = replace(result, node=node.name, group=group)
            pairs.append((self._by_hash[result.case_hash], result))
        if not self.keep(pairs, answer["environments"], self.fleet.replicas):
            return
        for case, result in pairs:
            self._results[result.key()] = (case, result)
            self._failed += not result.ok and result.outcome != "unsupported"
            self.listener.measured(case, result)

    def _give_up(self, given_up: GivenUp) -> None:
        ended = SessionEnded("failed", given_up.reason)
        pairs = []
        for slot in given_up.task.parcel.slots:
            for name in given_up.task.parcel.metrics:
                place = {
                    "environment": slot.environment.name,
                    "fingerprint": "",
                    "policy": self.request.policy.text,
                    "group": "",
                }
                result = outcome.failure(slot.case, metrics()[name], ended, place)
                pairs.append((slot.case, result))
        if self.keep(pairs, {}, self.fleet.replicas):
            for case, result in pairs:
                self._results[result.key()] = (case, result)
                self._failed += 1
                self.listener.measured(case, result)

    def _tell(self) -> None:
        self.listener.fleet(
            FleetState(
                nodes=len({seat.node.id for seat in self._seats}),
                starting=sum(seat.starting for seat in self._seats),
                running=self.schedule.running,
                done=self.schedule.finished,
                total=self.schedule.total,
                failed=self._failed,
                lost=self._lost,
            )
        )


def _devices_of(node: Node) -> set[str]:
    return {device for device, count in (("cpu", node.cpus), ("gpu", node.gpus)) if count}


def _nodes_that_have(
    earlier: Collection[tuple[Case, Result]], policy: str
) -> Callable[[Parcel], set[str]]:
    """Which nodes measured a parcel as a whole in the run that is continued. What was given up
    has no node, and is measured again."""
    have: dict[str, set[tuple[str, str, str]]] = {}
    for case, result in earlier:
        if result.node and result.policy == policy:
            have.setdefault(result.node, set()).add((case.hash, result.metric, result.environment))

    def nodes(parcel: Parcel) -> set[str]:
        wanted = {
            (slot.case.hash, metric, slot.environment.name)
            for slot in parcel.slots
            for metric in parcel.metrics
        }
        return {node for node, there in have.items() if wanted <= there}

    return nodes
