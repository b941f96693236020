"""The suite `snippets`: small statements in Python and C++, chosen for breadth, not for size.

Tensors are tiny on purpose: what is measured is what a framework does around the arithmetic.
Snippets that users' files define are read here too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import CollectedFile, Command, Suite, Targets


class Snippets(Suite):
    about = "small statements in Python and C++, eager and TorchScript: what torch's overhead costs"
    # There are many, and none takes long.
    options: ClassVar = {"max_time_per_case": 2.5}

    def definitions(self) -> Iterable[Definition]:
        from opbench.snippets import flatten
        from opbench.suites.snippets import modules, statements, training
        from opbench.suites.snippets.definition import definitions_of

        topics = {**statements.SNIPPETS, **modules.SNIPPETS, **training.SNIPPETS}
        return definitions_of("snippets", flatten(topics).items())

    def commands(self) -> Iterable[Command]:
        from opbench.suites.snippets.time_command import time

        yield Command("time", time)

    def read_module(self, collected: CollectedFile) -> Targets | None:
        entries = collected.content["snippets"]
        if not entries:
            return None
        from opbench.suites.snippets.definition import definitions_of
        from opbench.worker.stub.snippets.found import from_data

        path = collected.file.path
        flat = [(tuple(entry["label"]), from_data(entry)) for entry in entries]
        return Targets(definitions_of(path.stem, flat, user=collected.user, origin=str(path)))


SUITE = Snippets()
