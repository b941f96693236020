"""Allocations, arithmetic, data movement, reductions, indexing, views: one statement each."""

from __future__ import annotations

from functools import partial
from typing import Any

from opbench.snippets import GroupedStmts, Setup, iter_parsed_lines

trivial = partial(GroupedStmts, setup=Setup.TRIVIAL_2D.value)
generic = partial(GroupedStmts, setup=Setup.GENERIC.value)
indexed = partial(GroupedStmts, setup=Setup.INDEXING.value)


def rows(make: Any, table: str) -> dict[str, Any]:
    """Snippets from lines of `Python | C++`, each labelled by a comment `# name` on the left."""
    found, name = {}, ""
    for python, cpp in iter_parsed_lines(table):
        if python.startswith("# "):
            name = python[2:]
        else:
            found[name] = make(python, cpp)
    return found


def index_labels() -> dict[str, tuple[str, str]]:
    return {
        "integer": ("[0]", "{0}"),
        "integers": ("[0, 0, 0]", "{0, 0, 0}"),
        "ellipsis": ("[...]", '{"..."}'),
        "slice": ("[:]", "{Slice()}"),
        "none": ("[None]", "{None}"),
        "true": ("[True]", "{true}"),
        "false": ("[False]", "{false}"),
    }


SNIPPETS: dict[str, Any] = {
    "empty": {
        "statement": GroupedStmts("pass", ";"),
        "scalar": GroupedStmts("torch.empty(())", "torch::empty({});"),
        "no_allocation": GroupedStmts("torch.empty((0,))", "torch::empty({0});"),
        "allocation": GroupedStmts("torch.empty((1,))", "torch::empty({1});"),
        "zeros": GroupedStmts("torch.zeros((4, 4))", "torch::zeros({4, 4});"),
    },
    "math": {
        "add_tensor": generic(
            "x += y_float", "x += y_float;", signature="f(x, y_float) -> None", torchscript=True
        ),
        "multiply_add": generic(
            "z = x * y_float + 1.0",
            "auto z = x * y_float + 1.0;",
            signature="f(x, y_float) -> z",
            torchscript=True,
        ),
        **rows(
            generic,
            """
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            # add_scalar                             |
            x += 1.0                                 | x += 1.0;
            # add_promoted                           |
            x += y_int                               | x += y_int;
            # add_out_of_place                       |
            x + y_float                              | x + y_float;
            # multiply                               |
            x * y_float                              | x * y_float;
            # equal_tensor                           |
            x == y_float                             | x == y_float;
            # equal_scalar                           |
            x == 1.0                                 | x == 1.0;
            # relu                                   |
            torch.relu(x)                            | torch::relu(x);
            # exp                                    |
            torch.exp(x)                             | torch::exp(x);
            # clamp                                  |
            torch.clamp(x, 0.2, 0.8)                 | torch::clamp(x, 0.2, 0.8);
            # where                                  |
            torch.where(x > 0.5, x, y_float)         | torch::where(x > 0.5, x, y_float);
            # mm                                     |
            torch.mm(x, y_float)                     | torch::mm(x, y_float);
            # matmul                                 |
            torch.matmul(x, y_float[0])              | torch::matmul(x, y_float[0]);
            """,
        ),
    },
    "movement": {
        **rows(
            trivial,
            """
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            # contiguous                             |
            x.contiguous()                           | x.contiguous();
            # transposed_contiguous                  |
            x.t().contiguous()                       | x.t().contiguous();
            # clone                                  |
            x.clone()                                | x.clone();
            # zero                                   |
            x.zero_()                                | x.zero_();
            # uniform                                |
            x.uniform_()                             | x.uniform_();
            """,
        ),
        "copy": generic("x.copy_(y_float)", "x.copy_(y_float);"),
    },
    "reduction": {
        "max": generic("x.max()", "x.max();"),
        "sum": generic("x.sum()", "x.sum();"),
        "variance": generic("x.var(0)", "x.var(0);"),
    },
    "indexing": {
        "read": {
            name: indexed(f"x{python}", f"x.index({cpp});")
            for name, (python, cpp) in index_labels().items()
        },
        "write": {
            name: indexed(f"x{python} = 1", f"x.index_put_({cpp}, 1);")
            for name, (python, cpp) in index_labels().items()
        },
        "tensor": indexed(
            "a[b, None, ...] = 1",
            "a.index_put_({b, None, Ellipsis}, 1);",
            signature="f(a, b) -> None",
            torchscript=True,
        ),
    },
    "views": rows(
        trivial,
        """
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # size                                   |
        x.size()[0]                              | x.sizes()[0];
        # stride                                 |
        x.stride(0)                              | x.stride(0);
        # as_strided                             |
        torch.as_strided(x, (2, 3), (4, 1), 2)   | torch::as_strided(x, {2, 3}, {4, 1}, 2);
        # select                                 |
        x.select(1, 1)                           | x.select(1, 1);
        # unsqueeze                              |
        x.unsqueeze(0)                           | x.unsqueeze(0);
        # view                                   |
        x.view(-1, 1)                            | x.view({-1, 1});
        # transpose                              |
        x.t()                                    | x.t();
        # expand                                 |
        x.expand(2, 4, 4)                        | x.expand({2, 4, 4});
        """,
    ),
    "inference": {
        "grad_mode": trivial("y = x + 1", "auto y = x + 1;"),
        "no_grad": trivial(
            "with torch.no_grad():\n    y = x + 1", "torch::NoGradGuard guard;\nauto y = x + 1;"
        ),
        "inference_mode": trivial(
            "with torch.inference_mode():\n    y = x + 1",
            "c10::InferenceMode guard;\nauto y = x + 1;",
        ),
    },
}
