"""What the sides of a comparison of commits are called."""

from __future__ import annotations

import pytest

from opbench.api.ab import shown


@pytest.mark.parametrize(
    ("commits", "names"),
    [
        (("HEAD~1", "HEAD"), ("HEAD~1", "HEAD")),
        (("origin/main", "fast_add"), ("origin/main", "fast_add")),
        (("a" * 40, "HEAD"), ("a" * 12, "HEAD")),
        (("main", "main"), ("main", "main (again)")),
    ],
)
def test_commits_are_called_as_they_were_typed(commits, names):
    assert shown(commits) == names
