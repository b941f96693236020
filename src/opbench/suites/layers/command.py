"""`opbench layers`: the layer suite behind the command line of the classic Opacus runner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from opbench.cli.options import takes
from opbench.errors import UserError, unknown

if TYPE_CHECKING:
    from opbench.api.run import Run
    from opbench.report.terminal.console import Console
    from opbench.running.listener import Listener
    from opbench.suites.layers.config.model import Config

#: Default name of the runs that this command starts; `--cont` looks for it.
RUN_NAME = "layers"
#: The fixed design of the study.
NUM_RUNS, NUM_REPEATS = 100, 20


@takes(
    "suite",
    num_runs={"help": "Number of benchmarking runs.", "otherwise": "the config's, or 100"},
    num_repeats={
        "help": "How many forward/backward passes per run.",
        "otherwise": "the config's, or 20",
    },
    seed={
        "flags": ("--random-seed",),
        "help": "Random seed for the first run of each layer; each further run adds 1.",
    },
    metrics={"otherwise": "time, memory"},
    device={"otherwise": "cuda where there is a GPU, otherwise cpu"},
    timeout={"otherwise": "900s", "metavar": "900s"},
    name={"help": "A name for this run; --cont completes its latest.", "default": RUN_NAME},
    cont={"help": "Only run missing experiments."},
    save={"help": "Write neither store nor pickles."},
)
def layers(
    options: dict[str, Any],
    layers: list[str] = typer.Option(
        [], "--layers", metavar="NAME...", help="linear, gsm_linear, … [default: all of the config]"
    ),
    batch_sizes: list[int] = typer.Option(
        [], "--batch-sizes", metavar="N...", min=1, help="[default: 16 32 64 128 256 512]"
    ),
    forward_only: bool = typer.Option(False, "--forward-only", help="Only run forward passes."),
    config_file: Path = typer.Option(
        None,
        "-c",
        "--config-file",
        help="Layer sizes. [default: ./config.json if it is a layer config, else those of "
        "arXiv:2109.12298]",
    ),
    root: Path = typer.Option(
        Path("results/raw"), "--root", help="Folder for the pickles, one per result."
    ),
    suffix: str = typer.Option("", "--suffix", help="Appended to the name of each pickle."),
    model: str = typer.Option(
        "",
        "--model",
        metavar="FILE.py:FUNCTION",
        help="Measure one DP-SGD step of a model of yours instead: non-private and in each mode, "
        "with flat and per-layer clipping, whole and in two physical batches; by layer.",
    ),
    verbose: bool = typer.Option(False, "-v", "--verbose", help="Print each run's result."),
    modes: list[str] = typer.Option(
        [],
        "--grad-sample-modes",
        "--modes",
        metavar="MODE...",
        help="Each layer in each of these: baseline, hooks, functorch, ew, ghost. [default: hooks "
        "for gsm_linear and the like, baseline for others]",
    ),
) -> int:
    """Measure layers as the classic Opacus runner does.

    Each is measured in num_runs runs of num_repeats steps.
    """
    from opbench.machine.gpu import default_device
    from opbench.report.terminal.console import Console
    from opbench.suites.layers.pickles import Files, Pickles, check_folder, check_suffix

    console = Console(stderr=True)
    cont, save = options.pop("cont", False), options.get("save", True)
    options.setdefault("device", default_device())
    if model:
        if layers or config_file or forward_only or cont:
            raise UserError("--model measures steps of a model: leave out flags about layers")
        return measure_model(model, modes, batch_sizes, options)
    config, target, origin = chosen_config(config_file)
    settings = config.settings
    seed = options.get("seed")
    options.setdefault("num_runs", settings.num_runs or NUM_RUNS)
    options.setdefault("num_repeats", settings.num_repeats or NUM_REPEATS)
    pairs = layers_in_modes(layers, modes, config, str(config_file or origin))
    axes: dict[str, list[Any]] = {"layer": [f"{layer}@{mode}" for layer, mode in pairs]}
    if batch_sizes:
        axes["batch_size"] = list(dict.fromkeys(batch_sizes))
    if save:
        check_folder(root)
        check_suffix(suffix)

    from opbench.api.progress import progress
    from opbench.api.request import build
    from opbench.api.run import execute
    from opbench.report.terminal.run import show
    from opbench.suites.layers.continuing import EXTENDS, run_to_complete, to_complete

    wanted = {
        **options,
        "targets": (target,),
        "axes": axes,
        "stages": ("forward",) if forward_only else (),
    }
    _, settled = build(wanted)
    begun = run_to_complete(settled) if cont else None
    first = f"Using {origin}, on {options['device']}."
    if cont and begun is None:
        first += " No earlier run with these settings; everything is missing."
    if begun is not None:
        wanted = to_complete(begun, settled, wanted)
    with progress(console) as listener:
        say_first(first, listener, console)
        finished = execute(wanted, listener=listener, extends=EXTENDS)
    runs, repeats = options["num_runs"], options["num_repeats"]
    pickles = Pickles(config, root, suffix, runs, repeats, seed, bool(modes), settled.metrics)
    files = pickles.write(finished.results, only_missing=cont) if save else Files()
    if verbose:
        _print_runs(finished)
    show(finished)
    for line in files.lines(root):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    if finished.status == "interrupted":
        console.print("Interrupted; run the same command with --cont to measure what is missing.")
    return finished.exit_code


def say_first(line: str, listener: Listener, console: Console) -> None:
    """Print a line when the run begins: after every mistake in what was asked for was found."""
    begin = listener.started

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    def started(run_id: str, cases: int, already_done: int) -> None:
        say(line)
        begin(run_id, cases, already_done)

    def complete(run_id: str) -> None:
        """The last line of the table names the run, and what became of it."""
        say(f"{line} Nothing is missing, so nothing was measured.")

    listener.started = started  # type: ignore[method-assign]
    listener.complete = complete  # type: ignore[method-assign]


def measure_model(
    target: str, modes: list[str], batch_sizes: list[int], options: dict[str, Any]
) -> int:
    """One training step of a user's model, in every private way."""
    from opbench.api.progress import progress
    from opbench.api.run import execute
    from opbench.define.expand import expand
    from opbench.report.terminal.console import Console
    from opbench.report.terminal.run import show
    from opbench.suites.layers.model.definition import model_definition

    definition = model_definition(target, modes, batch_sizes)
    device = options["device"]
    cases = expand(
        [definition],
        device=device,
        threads=options.get("threads"),
        seed=options.get("seed", 0),
        keep=options.get("keep", ()),
    )
    console = Console(stderr=True)
    settings = {"metrics": ("time", "memory", "parts"), "timeout": 900.0, **options}
    if "baseline" not in settings and any(c.axes["mode"] == "baseline" for c in cases):
        settings["baseline"] = "mode=baseline"
    with progress(console) as listener:
        say_first(f"Measuring {definition.name} on {device}.", listener, console)
        finished = execute(settings, cases=cases, listener=listener)
    show(finished)
    return finished.exit_code


def chosen_config(path: Path | None) -> tuple[Config, str, str]:
    """The config, the target of a run that reads it, and what to call it."""
    from opbench.define.document import read
    from opbench.suites.layers import config

    if path is not None:
        return config.load(path), str(path), str(path)
    here, origin = Path("config.json"), "the configuration of arXiv:2109.12298"
    if here.is_file():
        why, found = "./config.json is not a layer config", None
        try:
            found = read(here)
        except UserError as error:
            why += f": {str(error).removeprefix(str(here)).lstrip(': ')}"
        if config.is_config(found):
            return config.load(here), str(here), "./config.json"
        origin += f" ({why})"
    return config.published(), "layers", origin


def layers_in_modes(
    names: list[str], modes: list[str], config: Config, origin: str
) -> list[tuple[str, str]]:
    """The (layer, mode) pairs to measure, each once, in order."""
    from opbench.suites.layers.names import MODES, SECTIONS, read_name

    for mode in modes:
        if mode not in MODES:
            raise UserError(unknown("mode", mode, MODES))
    asked = [read_name(name) for name in names] or config.pairs
    for name, (layer, _) in zip(names, asked):
        if config.section(layer) is None:
            raise UserError(f"{origin}: {SECTIONS[layer]}: missing, and {name} needs it")
    return list(dict.fromkeys((layer, each) for layer, mode in asked for each in modes or [mode]))


def _print_runs(run: Run) -> None:
    from opbench.suites.layers.pickles import memory_stats

    timers = {result.metric for _, result in run.results if result.unit == "s"}
    for case, result in run.results:
        if result.metric == "memory":
            print(f"{case.id}  {memory_stats(result)}")
        timer = f"{result.metric}  " if len(timers) > 1 else ""
        for number, sample in enumerate(result.samples if result.unit == "s" else ()):
            print(f"{case.id}  {timer}run {number}  {sample.value:.6g} s")
