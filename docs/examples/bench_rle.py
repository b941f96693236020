from opbench.snippets import TimerArgs

SETUP = """
import rle
words, runs = "abcdefgh" * 10, "a" * 300 + "b" * 300
"""
BENCHMARKS = {
    "words": TimerArgs("rle.compress(words)", SETUP),
    "runs": TimerArgs("rle.compress(runs)", SETUP),
}
