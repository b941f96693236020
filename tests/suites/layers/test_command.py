"""`opbench layers`: the classic command line, word for word, and its pickles."""

from __future__ import annotations

import json
import pickle

import pytest
from tests.suites.layers.small import CONFIG

from opbench.errors import UserError
from opbench.store import Store
from opbench.suites.layers.command import chosen_config, layers_in_modes
from opbench.suites.layers.config import checked, published
from opbench.suites.layers.names import CLASSIC, read_name
from opbench.suites.layers.spaced_command import unfolded

pytestmark = pytest.mark.usefixtures("without_gpu")

SEVERAL = {"--layers", "--batch-sizes"}


# -- reading the command line ---------------------------------------------------------------


def unfold(text):
    return " ".join(unfolded(text.split(), SEVERAL))


def test_values_follow_one_flag_hyphen_or_underscore():
    given = "--layers linear gsm_linear --batch_sizes 16 32 --num_runs 3 -c x.json --cont"
    assert unfold(given) == (
        "--layers linear --layers gsm_linear --batch-sizes 16 --batch-sizes 32 "
        "--num-runs 3 -c x.json --cont"
    )


def test_commas_and_equals_are_read_as_well():
    assert unfold("--layers=linear,conv --batch-sizes 16,32") == (
        "--layers linear --layers conv --batch-sizes 16 --batch-sizes 32"
    )


def test_an_underscore_in_a_value_stays():
    assert unfolded(["--layers", "gsm_linear", "--suffix", "a_b"], SEVERAL) == (
        ["--layers", "gsm_linear", "--suffix", "a_b"]
    )


def test_negative_numbers_are_values():
    assert unfolded(["--batch_sizes", "-3"], SEVERAL) == ["--batch-sizes", "-3"]


def test_without_arguments_it_is_the_published_study():
    assert layers_in_modes([], [], published(), "") == [read_name(name) for name in CLASSIC]


def test_a_plain_name_is_the_layer_as_it_is():
    found = layers_in_modes(["linear", "gsm_conv", "linear"], [], published(), "")
    assert found == [("linear", "baseline"), ("conv", "hooks")]


def test_modes_apply_to_every_layer_named():
    found = layers_in_modes(["linear", "dplstm"], ["baseline", "ghost"], published(), "")
    assert found == [(n, m) for n in ("linear", "dplstm") for m in ("baseline", "ghost")]


def test_a_layer_that_the_config_lacks():
    config = checked({"linear": CONFIG["linear"]}, "f.json")
    assert layers_in_modes([], [], config, "f.json") == [
        ("linear", "baseline"),
        ("linear", "hooks"),
    ]
    with pytest.raises(UserError, match=r"f\.json: rnn_base: missing, and gsm_dplstm needs it"):
        layers_in_modes(["gsm_dplstm"], [], config, "f.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layers", "gsm_liner"], "unknown layer 'gsm_liner'; did you mean gsm_linear"),
        (
            ["linear", "conv", "--cont"],
            "unexpected linear conv; layers are chosen by --layers, for",
        ),
        (["--layers"], "--layers was given no value"),
        (["--batch_sizes", "0"], "--batch-sizes"),
        (["--num_runs", "many"], "--num-runs"),
        (["--clock", "sundial"], "unknown clock 'sundial'"),
        (["--modes", "spooky"], "unknown mode 'spooky'"),
        (["-c", "none.json"], "file not found: none.json"),
        (["--suffix", "/../../x"], "suffix: '/../../x' cannot be part of a file's name"),
        (["--root", "/dev/null/raw"], "cannot write pickles to /dev/null/raw: Not a directory"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, said, opbench_here):
    found = opbench_here("layers", *arguments)
    assert found.returncode == 2, found.stderr
    assert said in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_a_refused_config_leaves_no_folder(tmp_path, opbench_here):
    bare = {"input_shape": [8], "num_features": 4}
    (tmp_path / "bare.json").write_text(json.dumps({"instancenorm": bare}))
    found = opbench_here("layers", "-c", "bare.json", "--root", "results/raw")
    assert found.returncode == 2
    assert "affine is not given" in found.stderr
    assert not (tmp_path / "results").exists()


def test_a_config_json_here_is_the_default_if_it_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, target, origin = chosen_config(None)
    assert (target, found.layers, origin) == (
        *("layers", published().layers),
        "the configuration of arXiv:2109.12298",
    )
    here = tmp_path / "config.json"
    here.write_text(json.dumps({"linear": CONFIG["linear"]}))
    found, target, origin = chosen_config(None)
    assert (target, found.layers, origin) == ("config.json", ("linear",), "./config.json")
    for other in ('{"theme": "dark"}', "not JSON", "[1]"):
        here.write_text(other)
        _, target, origin = chosen_config(None)
        assert target == "layers"
        assert "./config.json is not a layer config" in origin
    here.write_text('{"linear": ')
    assert chosen_config(None)[2].endswith(
        "(./config.json is not a layer config: line 1, column 12: not valid JSON: Expecting value)"
    )


# -- running --------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: CONFIG[key] for key in ("linear", "rnn_base")}))
    return path


QUICK = ("--num_runs", "2", "--num_repeats", "3", "--random_seed", "7", "--max_starts", "1")


def read(path):
    return pickle.loads(path.read_bytes())


def test_the_classic_runner_s_files_and_the_store(opbench_here, config, tmp_path):
    """One run, its pickles, and what `--cont` makes of a missing one."""
    pytest.importorskip("opacus")
    command = ("layers", "--layers", "linear", "gsm_linear", "lstm", "--batch_sizes", "4", "8")
    command += (*QUICK, "-c", config, "--root", "results/old/")
    found = opbench_here(*command)
    assert found.returncode == 0, found.stderr
    folder = tmp_path / "results" / "old"
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(
        f"{name}_bs_{size}_runs_2_repeats_3_seed_7.pkl"
        for name in ("linear", "gsm_linear", "lstm")
        for size in (4, 8)
    )
    content = read(folder / "lstm_bs_4_runs_2_repeats_3_seed_7.pkl")
    assert list(content) == [
        *("layer", "batch_size", "num_runs", "num_repeats", "random_seed", "forward_only"),
        *("gsm_mode", "results", "config"),
    ]
    assert content["config"] == CONFIG["rnn_base"]
    assert len(content["results"]) == 2
    for one in content["results"]:
        assert one["runtime"] > 0
        assert list(one["memory_stats"]) == [
            *("offset", "input_tensor", "h_0", "c_0", "layer", "labels", "max_memory")
        ]
        assert one["memory_stats"]["h_0"] == 1 * 4 * 6 * 4
    wrapped = read(folder / "gsm_linear_bs_8_runs_2_repeats_3_seed_7.pkl")
    assert (wrapped["layer"], wrapped["gsm_mode"]) == ("linear", "hooks")
    assert f"Using {config}, on " in found.stderr.splitlines()[0]

    # Exported again, not measured again; the others are left as they are.
    lost = folder / "lstm_bs_4_runs_2_repeats_3_seed_7.pkl"
    kept = folder / "linear_bs_8_runs_2_repeats_3_seed_7.pkl"
    lost.unlink()
    before = kept.stat().st_mtime_ns
    again = opbench_here(*command, "--cont")
    assert again.returncode == 0, again.stderr
    assert "1 pickle written" in again.stderr
    assert read(lost)["results"] == content["results"]
    assert kept.stat().st_mtime_ns == before

    # Interrupted between time and memory, a file has times only; `--cont` completes it.
    whole = kept.read_bytes()
    times_only = read(kept)
    for entry in times_only["results"]:
        entry["memory_stats"] = None
    kept.write_bytes(pickle.dumps(times_only))
    assert opbench_here(*command, "--cont").returncode == 0
    assert kept.read_bytes() == whole

    # A run of times only lacks the memory.
    few = ("layers", "--layers", "linear", "--batch_sizes", "4", *QUICK, "-c", config)
    few += ("--root", "results/few")
    file = tmp_path / "results" / "few" / "linear_bs_4_runs_2_repeats_3_seed_7.pkl"
    for more, known in (("--metric", "time"), False), (("--cont",), True):
        assert opbench_here(*few, "--name", "few", *more).returncode == 0
        assert all(bool(each["memory_stats"]) == known for each in read(file)["results"])

    # Another seed is another run: nothing of the first is completed by it.
    other = opbench_here(*few, "--random_seed", "8", "--cont")
    assert "No earlier run with these settings" in other.stderr
    with Store.open(tmp_path / ".opbench" / "results.db") as store:
        assert [run.request["seed"] for run in store.runs() if run.name != "few"] == [8, 7]

    # The report reads both runs as one, and tells them apart.
    runs = ("last~2", "last")
    report = opbench_here("report", "layers", *runs, "-f", "md", "--against", "published")
    assert "× the same layer unwrapped" in report.stdout, report.stderr
    assert "| linear (seed 7) | hooks |" in report.stdout
    assert "| linear (seed 8) | baseline |" in report.stdout


def test_no_save_writes_nothing(opbench_here, config, tmp_path):
    found = opbench_here("layers", "--layers", "linear", "--batch_sizes", "4", *QUICK, "-c", config,
                    "--no_save", "--forward_only", "-v")  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "run 1" in found.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


def test_cont_with_no_save_measures_what_is_missing_and_writes_nothing(
    opbench_here, config, tmp_path
):
    def layers(*arguments):
        found = opbench_here("layers", "--layers", "linear", *QUICK, "-c", config,
                             "--forward_only", *arguments)  # fmt: skip
        assert found.returncode == 0, found.stderr
        return found

    layers("--batch_sizes", "4")
    written = sorted(path.name for path in tmp_path.rglob("*.pkl"))
    found = layers("--batch_sizes", "4", "8", "--cont", "--no_save")
    assert "2 results stored before" in found.stderr, found.stderr
    assert "4 ok; not saved" in found.stdout
    assert sorted(path.name for path in tmp_path.rglob("*.pkl")) == written
    complete = layers("--batch_sizes", "4", "--cont", "--no_save")
    assert "Nothing is missing" in complete.stderr
    with Store.open(tmp_path / ".opbench" / "results.db") as store:
        assert len(store.results()) == 2


def test_suffix_forward_only_and_modes_are_in_the_name(opbench_here, config, tmp_path):
    found = opbench_here("layers", "--layers", "linear", "--batch_sizes", "4", *QUICK, "-c", config,
                    "--forward_only", "--suffix", "x", "--grad_sample_modes", "baseline",
                    "--clock", "torch")  # fmt: skip
    assert found.returncode == 0, found.stderr
    (path,) = (tmp_path / "results" / "raw").iterdir()
    assert path.name == "linear_mode_baseline_bs_4_runs_2_repeats_3_seed_7_forward_only_x.pkl"
    assert read(path)["forward_only"] is True


def test_one_layer_from_python():
    import opbench

    runtime, memory = opbench.run_layer_benchmark(
        "linear", 4, in_features=5, out_features=7, num_repeats=3, num_runs=1
    )
    assert runtime > 0
    assert memory["layer"] == (5 * 7 + 7) * 4
    with pytest.raises(UserError, match=r"run_layer_benchmark: linear\.in_features: expected"):
        opbench.run_layer_benchmark("linear", 4, in_features=-5)
