"""`opbench layers`: the layer suite behind the command line of the classic Opacus runner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from opbench.cli.options import takes
from opbench.errors import UserError, unknown

if TYPE_CHECKING:
    from opbench.api.run import Run
    from opbench.case import Case
    from opbench.result import Result
    from opbench.suites.layers.classic_pickle import Record
    from opbench.suites.layers.config import Config

#: Default name of the runs that this command starts; `--cont` looks for it.
RUN_NAME = "layers"


@takes(
    "suite",
    num_runs={"help": "Number of benchmarking runs.", "default": 100},
    num_repeats={"help": "How many forward/backward passes per run.", "default": 20},
    seed={
        "flags": ("--random-seed",),
        "help": "Random seed for the first run of each layer; each further run adds 1.",
    },
    metrics={"otherwise": "time, memory"},
    timeout={"otherwise": "900s", "metavar": "900s"},
    name={"help": "A name for this run; --cont completes its latest.", "default": RUN_NAME},
    cont={"help": "Only run missing experiments."},
    save={"help": "Write neither store nor pickles."},
)
def layers(
    options: dict[str, Any],
    layers: list[str] = typer.Option(
        [], "--layers", metavar="NAME...", help="linear, gsm_linear, … [default: all 24]"
    ),
    batch_sizes: list[int] = typer.Option(
        [], "--batch-sizes", metavar="N...", min=1, help="[default: 16 32 64 128 256 512]"
    ),
    forward_only: bool = typer.Option(False, "--forward-only", help="Only run forward passes."),
    config_file: Path = typer.Option(
        None, "-c", "--config-file", help="Layer sizes. [default: those of arXiv:2109.12298]"
    ),
    root: Path = typer.Option(
        Path("results/raw"), "--root", help="Folder for the pickles, one per result."
    ),
    suffix: str = typer.Option("", "--suffix", help="Appended to the name of each pickle."),
    verbose: bool = typer.Option(False, "-v", "--verbose", help="Print each run's result."),
    modes: list[str] = typer.Option(
        [],
        "--grad-sample-modes",
        "--modes",
        metavar="MODE...",
        help="Each layer in each of these: baseline, hooks, functorch, ew, ghost.",
    ),
) -> int:
    """Measure layers as the classic Opacus runner does: num_runs runs of num_repeats steps."""
    cont, save = options.pop("cont", False), options.get("save", True)
    if cont and not save:
        raise UserError("--cont completes a stored run, so it cannot go with --no-save")
    config, target = _config(config_file)
    pairs = layers_in_modes(layers, modes, config, str(config_file or ""))
    axes: dict[str, list[Any]] = {"layer": [f"{layer}@{mode}" for layer, mode in pairs]}
    if batch_sizes:
        axes["batch_size"] = list(dict.fromkeys(batch_sizes))

    from opbench.api.run import run as measure
    from opbench.cli.progress import progress
    from opbench.report.terminal.console import Console
    from opbench.report.terminal.run import show

    console = Console(stderr=True)
    with progress(console) as listener:
        finished = measure(
            target,
            axes=axes,
            stages=("forward",) if forward_only else (),
            cont=cont and _has_run(options.get("store"), options["name"]),
            listener=listener,
            **options,
        )
    runs, repeats, seed = options["num_runs"], options["num_repeats"], options.get("seed")
    pickles = Pickles(config, root, suffix, runs, repeats, seed, bool(modes))
    written = pickles.write(finished, only_missing=cont) if save else 0
    if verbose:
        _print_runs(finished)
    show(finished)
    if written:
        console.print(f"{written} pickles written to {root}", highlight=False)
    if finished.status == "interrupted":
        console.print("Interrupted; run the same command with --cont to measure what is missing.")
        return 130
    return 1 if finished.failures else 0


def _config(path: Path | None) -> tuple[Config, str]:
    """The config, and the target of a run that reads it."""
    from opbench.suites.layers import config

    return (config.published(), "layers") if path is None else (config.load(path), str(path))


def layers_in_modes(
    names: list[str], modes: list[str], config: Config, origin: str
) -> list[tuple[str, str]]:
    """The (layer, mode) pairs to measure, each once, in order."""
    from opbench.suites.layers.names import CLASSIC, MODES, SECTIONS, read_name

    for mode in modes:
        if mode not in MODES:
            raise UserError(unknown("mode", mode, MODES))
    # Without names: every layer that the config has a section for.
    chosen = names or [name for name in CLASSIC if read_name(name)[0] in config.layers]
    pairs: dict[tuple[str, str], None] = {}
    for name in chosen:
        layer, mode = read_name(name)
        if config.section(layer) is None:
            raise UserError(f"{origin}: {SECTIONS[layer]}: missing, and {name} needs it")
        for each in modes or [mode]:
            pairs[layer, each] = None
    return list(pairs)


def _has_run(store: str | None, name: str) -> bool:
    """Whether a run of this name exists; without one, everything is missing."""
    from opbench.store import Store
    from opbench.store.errors import StoreError

    try:
        with Store.open(store, create=False) as opened:
            opened.find_run(name)
    except StoreError:
        return False
    return True


@dataclass(frozen=True)
class Pickles:
    """The pickles of one command line."""

    config: Config
    root: Path
    suffix: str
    num_runs: int
    num_repeats: int
    random_seed: int | None
    in_modes: bool

    def write(self, run: Run, *, only_missing: bool) -> int:
        """One file for each case with a time. With `only_missing`, existing files are kept."""
        from opbench.plan.policy import Fixed
        from opbench.suites.layers import classic_pickle

        policy = Fixed(num_runs=self.num_runs, num_repeats=self.num_repeats).text
        times: dict[str, tuple[Case, Result]] = {}
        memories: dict[str, Result] = {}
        for case, result in run.results:
            if result.ok and result.policy == policy:
                if result.metric == "memory":
                    memories[case.hash] = result
                elif result.unit == "s":
                    times.setdefault(case.hash, (case, result))
        written = 0
        for case_hash, (case, result) in times.items():
            record = self.record(case)
            path = record.path(self.root, self.suffix)
            if only_missing and path.exists():
                continue
            try:
                classic_pickle.write(path, record.content(result, memories.get(case_hash)))
            except OSError as error:
                raise UserError(f"cannot write {path}: {error.strerror}") from None
            written += 1
        return written

    def record(self, case: Case) -> Record:
        from opbench.suites.layers.classic_pickle import Record
        from opbench.suites.layers.names import classic_name

        mode = str(case.axes["mode"])
        named = None if self.in_modes else classic_name(case.name, mode)
        section = self.config.section(case.name)
        return Record(
            layer=named or case.name,
            mode=mode,
            batch_size=int(case.axes["batch_size"] or 0),
            num_runs=self.num_runs,
            num_repeats=self.num_repeats,
            random_seed=self.random_seed,
            forward_only=case.stage == "forward",
            config=section.model_dump(mode="json", exclude_unset=True),
            in_modes=named is None,
        )


def _print_runs(run: Run) -> None:
    from opbench.suites.layers.classic_pickle import memory_stats

    for case, result in run.results:
        if result.metric == "memory":
            print(f"{case.id}  {memory_stats(result)}")
        for number, sample in enumerate(result.samples if result.unit == "s" else ()):
            print(f"{case.id}  run {number}  {sample.value:.6g} s")
