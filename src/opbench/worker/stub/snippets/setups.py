"""Inputs that many small snippets share, in both languages, under the names of the original."""

from __future__ import annotations

import enum

from .grouped import GroupedSetup
from .tables import parse_stmts


class Setup(enum.Enum):
    TRIVIAL_2D = GroupedSetup("x = torch.ones((4, 4))", "auto x = torch::ones({4, 4});")
    TRIVIAL_3D = GroupedSetup("x = torch.ones((4, 4, 4))", "auto x = torch::ones({4, 4, 4});")
    TRIVIAL_4D = GroupedSetup("x = torch.ones((4, 4, 4, 4))", "auto x = torch::ones({4, 4, 4, 4});")
    GENERIC = GroupedSetup(
        *parse_stmts("""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        torch.manual_seed(0)                     | torch::manual_seed(0);
        x = torch.rand((4, 4))                   | auto x = torch::rand({4, 4});
        y_float = torch.ones((4, 4))             | auto y_float = torch::ones({4, 4});
        y_int = torch.ones((4, 4),               | auto y_int = torch::ones({4, 4}, at::kInt);
                           dtype=torch.int32)    |
        """)
    )
    INDEXING = GroupedSetup(
        *parse_stmts("""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
                                                 | using namespace torch::indexing;
        torch.manual_seed(0)                     | torch::manual_seed(0);
        x = torch.randn(1, 1, 1)                 | auto x = torch::randn({1, 1, 1});
        y = torch.randn(1, 1, 1)                 | auto y = torch::randn({1, 1, 1});
        a = torch.zeros(100, 100, 1, 1, 1)       | auto a = torch::zeros({100, 100, 1, 1, 1});
        b = torch.arange(99, -1, -1)             | auto b = torch::arange(99, -1, -1, at::kLong);
        """)
    )
    MESOSCALE = GroupedSetup(
        *parse_stmts("""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
        y = torch.ones((4, 4))                   | auto y = torch::ones({4, 4});
        bias = torch.ones((1,))                  | auto bias = torch::ones({1});
        eye_4 = torch.eye(4)                     | auto eye_4 = torch::eye(4);
        """)
    )
    TRAINING = GroupedSetup(
        *parse_stmts("""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x = torch.ones((1,))                     | auto x = torch::ones({1});
        y = torch.ones((1,))                     | auto y = torch::ones({1});
        w0 = torch.ones((1,)).requires_grad_()   | auto w0 = torch::ones({1}).requires_grad_();
        w1 = torch.ones((1,)).requires_grad_()   | auto w1 = torch::ones({1}).requires_grad_();
        w2 = torch.ones((2,)).requires_grad_()   | auto w2 = torch::ones({2}).requires_grad_();
        """)
    )
