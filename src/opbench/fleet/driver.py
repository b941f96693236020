"""The driver of a fleet: hands out units, collects results and losses, keeps each result once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opbench.case import Case
from opbench.errors import UserError
from opbench.fleet import wire
from opbench.fleet.cluster import AgentLost, Cluster
from opbench.fleet.device_slots import MAX_FAILED_STARTS, DeviceSlot, device_slots
from opbench.fleet.nodes import Node, check_versions, chosen
from opbench.fleet.options import Fleet
from opbench.fleet.schedule import Abandoned, Schedule, Task
from opbench.fleet.work_units import WorkUnit, work_units
from opbench.plan.groups import placed
from opbench.plan.metrics import metrics
from opbench.plan.request import Request
from opbench.result import Key, Metric, Result
from opbench.running.listener import FleetState, Listener
from opbench.sampling import outcome
from opbench.workers.session import SessionEnded

#: How often the list of nodes is read while nothing happens.
REFRESH_SECONDS = 2.0
#: How long a fleet without nodes waits for one: a machine that restarts, an autoscaler.
NODE_WAIT_SECONDS = 120.0

#: Stores what one node measured together, and the facts of its environments; False when as many
#: nodes as requested have done so already.
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
        self.units = work_units(groups, self.metrics())
        self._by_hash = {case.hash: case for case in request.cases}
        self._results: dict[Key, tuple[Case, Result]] = {}
        self._slots: list[DeviceSlot] = []
        #: Why a node is no longer used, by its id.
        self._excluded: dict[str, str] = {}
        self._lost = 0
        self._failed = 0
        self._refreshed = 0.0
        self._no_slots_since: float | None = None
        self._idle_since: float | None = None
        self._known: list[Node] = []
        self.cluster: Cluster | None = None
        self.schedule = Schedule(
            self.units,
            replicas=fleet.replicas,
            retries=fleet.retries,
            done=_nodes_done(earlier, request.policy.text),
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

        environments = dict.fromkeys(m.environment for unit in self.units for m in unit.members)
        shared = {
            "policy": wire.policy_to_dict(self.request.policy),
            "environments": wire.environments_to_dicts(environments),
            "files": wire.files_of(self.request.cases),
            "preload": self._preloads(),
            "cpus": list(self.request.cpus),
            "jobs": self.request.jobs,
            "number": self.request.number,
            "repeats": self.request.repeats,
            "seed": self.request.seed,
        }
        self.cluster = Cluster.connect(self.fleet.on)
        try:
            self._known = chosen(self._with_devices(self.cluster.nodes()), self.fleet.require)
            check_versions(self._known, __version__)
            self._check_replicas()
            self._shared = self.cluster.share(shared)
        except BaseException:
            self.cluster.close()
            raise

    def _with_devices(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with a device that the plan needs; a head without CPUs is not one."""
        found = [node for node in nodes if self._devices() & _devices_of(node)]
        for device in sorted(self._devices()):
            if not any(device in _devices_of(node) for node in found):
                raise UserError(f"no node of the fleet offers Ray a {device.upper()}")
        return found

    def _check_replicas(self) -> None:
        for device in sorted(self._devices()):
            able = sum(device in _devices_of(node) for node in self._known)
            if able < self.fleet.replicas:
                raise UserError(
                    f"--replicate-on {self.fleet.replicas} needs as many nodes; {able} of the "
                    f"fleet {'is' if able == 1 else 'are'} suitable"
                )

    def _devices(self) -> set[str]:
        return {unit.device for unit in self.units}

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
                self._refresh_slots()
                self._hand_out()
                self._report()
                self._collect()
            self._report()
        finally:
            for slot in self._slots:
                if slot.agent is not None:
                    self.cluster.end(slot.agent)
            self.cluster.close()
        return self.results

    def _refresh_slots(self) -> None:
        """Slots for every suitable node that joined; those of nodes that left are removed."""
        now = time.monotonic()
        if now - self._refreshed < REFRESH_SECONDS:
            return
        self._refreshed = now
        assert self.cluster is not None
        nodes = [node for node in self.cluster.nodes(0.0) if self._suitable(node)]
        alive = {node.id for node in nodes}
        for slot in [slot for slot in self._slots if slot.node.id not in alive]:
            self._release(slot, f"node {slot.node.name} is gone")
        self._slots = [slot for slot in self._slots if slot.node.id in alive]
        known = {slot.node.id for slot in self._slots} | set(self._excluded)
        for node in nodes:
            if node.id not in known:
                self._slots += device_slots(node, self.fleet.slots, self._devices())
        for slot in self._slots:
            if slot.agent is None:
                self._start(slot)
        self._wait_for_nodes(now)

    def _suitable(self, node: Node) -> bool:
        """A node that joins late is not worth an error: it is used or ignored."""
        from opbench import __version__

        return node.meets(self.fleet.require) and node.facts.get("opbench") == __version__

    def _wait_for_nodes(self, now: float) -> None:
        if self._slots:
            self._no_slots_since = None
            return
        self._no_slots_since = self._no_slots_since or now
        if now - self._no_slots_since > NODE_WAIT_SECONDS or self._excluded:
            why = "; ".join(self._excluded.values()) or "no node has come back"
            raise UserError(
                f"the fleet has no node left ({why}); finished results are kept: continue with "
                "--cont"
            )

    def _start(self, slot: DeviceSlot) -> None:
        assert self.cluster is not None
        slot.agent = self.cluster.start_agent(
            slot.node, self._shared, cpus=slot.cpus, gpus=slot.gpus
        )
        slot.reference = slot.agent.ready.remote()

    def _hand_out(self) -> None:
        for slot in self._slots:
            if not slot.idle:
                continue
            same_node = [other for other in self._slots if other.node.id == slot.node.id]
            if any(other.counting for other in same_node):
                continue  # a count disturbs every timing on its node
            nodes = {other.node.name for other in self._slots if other.device == slot.device}
            taken = self.schedule.take(slot.node.name, slot.device, timed=True, nodes=nodes)
            node_idle = not any(other.ticket is not None for other in same_node)
            if taken is None and slot.device == "cpu" and node_idle:
                # Counts come last on each node, and may use all of it.
                taken = self.schedule.take(slot.node.name, "cpu", timed=False, nodes=nodes)
            if taken is not None:
                self._send(slot, *taken)

    def _send(self, slot: DeviceSlot, ticket: int, task: Task) -> None:
        slot.ticket, slot.counting = ticket, not task.unit.timed
        slot.reference = slot.agent.measure.remote(wire.unit_to_dict(task.unit), self._seconds())
        self.listener.measuring([member.case for member in task.unit.members])

    def _seconds(self) -> float | None:
        """A unit's share of what is left of the budget."""
        if self._deadline is None:
            return None
        left = max(0.0, self._deadline - time.monotonic())
        return left * len(self._slots) / max(1, self.schedule.waiting + self.schedule.running)

    def _collect(self) -> None:
        assert self.cluster is not None
        waiting = {slot.reference: slot for slot in self._slots if slot.reference is not None}
        if not waiting:
            self._stalled()
            return
        self._idle_since = None
        for reference in self.cluster.wait(list(waiting), REFRESH_SECONDS):
            slot = waiting[reference]
            try:
                answer = self.cluster.answer(reference)
            except AgentLost as lost:
                self._release(slot, f"on node {slot.node.name}: {lost}")
                self._refreshed = 0.0  # its node may be gone too
                continue
            except Exception as error:
                self._agent_raised(slot, error)
                continue
            if slot.ticket is None:
                slot.reference = None
                slot.failed_starts = 0
                continue
            self._received(slot.node, self._finished(slot), answer)

    def _stalled(self) -> None:
        """Agents are idle and none may take what waits: it needs other nodes, or GPUs."""
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if self._slots and now - self._idle_since > NODE_WAIT_SECONDS:
            why = "no node is left that could take it; continue with --cont when there is one"
            for abandoned in self.schedule.abandon(why):
                self._store_failure(abandoned)
        time.sleep(0.1)

    def _agent_raised(self, slot: DeviceSlot, error: Exception) -> None:
        """The agent lives and raised: a bug of ours, which must not be retried for ever."""
        if slot.ticket is None:
            self._release(slot, f"on node {slot.node.name}: {error}")
            return
        line = (str(error).strip().splitlines() or [""])[0]
        reason = f"node {slot.node.name}: {type(error).__name__}: {line}"
        self._store_failure(Abandoned(self._finished(slot), reason))

    def _finished(self, slot: DeviceSlot) -> Task:
        """The task that the agent of a slot has answered; the slot is idle again."""
        assert slot.ticket is not None
        task = self.schedule.done(slot.ticket)
        slot.ticket = slot.reference = None
        slot.counting = False
        return task

    def _release(self, slot: DeviceSlot, why: str) -> None:
        """The agent of a slot is gone: its unit goes back to the queue."""
        assert self.cluster is not None
        slot.failed_starts = slot.failed_starts + 1 if slot.starting else 0
        if slot.ticket is not None:
            self._lost += 1
            if abandoned := self.schedule.lost(slot.ticket, why):
                self._store_failure(abandoned)
        if slot.agent is not None:
            self.cluster.end(slot.agent)
        slot.agent = slot.reference = slot.ticket = None
        slot.counting = False
        if slot.failed_starts >= MAX_FAILED_STARTS:
            self._excluded[slot.node.id] = f"node {slot.node.name} is excluded: {why}"
            self._slots = [other for other in self._slots if other.node.id != slot.node.id]

    # -- results ---------------------------------------------------------------------------

    def _received(self, node: Node, task: Task, answer: Mapping[str, Any]) -> None:
        pairs = []
        for data in answer["results"]:
            result = wire.result_from_dict(data)
            # Blocks are interleaved within a node only: another node makes another group.
            group = f"{result.group} on {node.name}" if result.group else ""
            result = replace(result, node=node.name, group=group)
            pairs.append((self._by_hash[result.case_hash], result))
        self._store(pairs, answer["environments"])

    def _store_failure(self, abandoned: Abandoned) -> None:
        ended = SessionEnded("failed", abandoned.reason)
        unit = abandoned.task.unit
        pairs = []
        for member in unit.members:
            place = {
                "environment": member.environment.name,
                "fingerprint": "",
                "policy": self.request.policy.text,
                "group": "",
            }
            for name in unit.metrics:
                result = outcome.failure(member.case, metrics()[name], ended, place)
                pairs.append((member.case, result))
        self._store(pairs, {})

    def _store(
        self,
        pairs: Sequence[tuple[Case, Result]],
        environments: Mapping[str, dict[str, Any]],
    ) -> None:
        if not self.keep(pairs, environments, self.fleet.replicas):
            return
        for case, result in pairs:
            self._results[result.key()] = (case, result)
            self._failed += result.failed
            self.listener.measured(case, result)

    def _report(self) -> None:
        self.listener.fleet(
            FleetState(
                nodes=len({slot.node.id for slot in self._slots}),
                starting=sum(slot.starting for slot in self._slots),
                running=self.schedule.running,
                done=self.schedule.finished,
                total=self.schedule.total,
                failed=self._failed,
                lost=self._lost,
            )
        )


def _devices_of(node: Node) -> set[str]:
    return {device for device, count in (("cpu", node.cpus), ("gpu", node.gpus)) if count}


def _nodes_done(
    earlier: Collection[tuple[Case, Result]], policy: str
) -> Callable[[WorkUnit], set[str]]:
    """Which nodes measured all of a unit in the run that is continued. Abandoned units have no
    node, and are measured again."""
    have: dict[str, set[tuple[str, str, str]]] = {}
    for case, result in earlier:
        if result.node and result.policy == policy:
            have.setdefault(result.node, set()).add((case.hash, result.metric, result.environment))

    def nodes(unit: WorkUnit) -> set[str]:
        wanted = {
            (member.case.hash, metric, member.environment.name)
            for member in unit.members
            for metric in unit.metrics
        }
        return {node for node, measured in have.items() if wanted <= measured}

    return nodes
