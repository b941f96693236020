"""The sides that `ab` is given: what they are called, and what is wrong with them."""

from __future__ import annotations

import pytest

from opbench.api.ab import ab, shown
from opbench.errors import UserError


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


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({}, "give two sides: environments=(A, B), or commits=(REV1, REV2)"),
        ({"commits": ["HEAD"]}, "give two sides: environments=(A, B), or commits=(REV1, REV2)"),
        ({"commits": "HEAD"}, "commits: expected two, such as commits=('HEAD', …), found 'HEAD'"),
    ],
)
def test_python_is_told_of_sides_in_its_own_words(sides, said):
    with pytest.raises(UserError) as caught:
        ab("tour", **sides)
    assert str(caught.value) == said
