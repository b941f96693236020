"""Definitions as they were written for the original, after the import lines."""

import functools

from opbench.snippets import (
    FlatIntermediateDefinition,
    GroupedModules,
    GroupedStmts,
    GroupedVariants,
    Setup,
    TimerArgs,
    flatten,
    iter_parsed_lines,
    parse_stmts,
)

GenericSetup_GroupedStmts = functools.partial(GroupedStmts, setup=Setup.GENERIC.value)

BENCHMARKS: FlatIntermediateDefinition = flatten({
    ("Pointwise", "Math"): {
        "add": {
            "Tensor-Scalar": GenericSetup_GroupedStmts(r"x += 1.0", r"x += 1.0;"),
            "Tensor-Tensor": GenericSetup_GroupedStmts(
                r"x += y_float",
                r"x += y_float;",
                signature=r"f(x, y_float) -> None",
                torchscript=True,
            ),
        },
    },
    "Indexing": {
        py_index: GroupedStmts(
            f"x{py_index} = 1", f"x.index_put_({cpp_index}, 1);", Setup.INDEXING.value
        )
        for py_index, cpp_index in iter_parsed_lines(r"""
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            [0]                                      | {0}
            [0, 0]                                   | {0, 0}
            [...]                                    | {"..."}
        """)
    },
    "nn Modules": {
        "Linear": GroupedModules(
            "model = torch.nn.Linear(4, 2)",
            "auto model = torch::nn::Linear(4, 2);",
            setup=Setup.TRIVIAL_2D.value,
            signature="f(x) -> y",
            torchscript=True,
        ),
    },
    "training": GroupedStmts(
        *parse_stmts(r"""
            Python                                   | C++
            ---------------------------------------- | ----------------------------------------
            a0 = torch.nn.functional.relu(x * w0)    | auto a0 = torch::relu(x * w0);
            y = a0 * w1                              | auto y = a0 * w1;
        """),
        Setup.TRAINING.value,
        num_threads=(1, 2),
        signature=r"f(x, w0, w1) -> y",
        torchscript=True,
        autograd=True,
    ),
    "views": GroupedVariants(
        py_block="""
            # @setup
            x = torch.ones((4, 4))
            # @view
            x.view(-1)
            # @select
            x.select(0, 0)
            x.select(1, 1)
        """,
        cpp_block="""
            // @setup
            auto x = torch::ones({4, 4});
            // @view
            x.view({-1});
        """,
    ),
    "timer": TimerArgs("torch.empty(1)", num_threads=2),
})  # fmt: skip
