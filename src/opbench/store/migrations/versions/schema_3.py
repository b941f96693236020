"""Runs keep how much worker starts scattered, for the next run on the same machine."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    op.create_table(
        "start_variances",
        sa.Column(
            "run_id", sa.Text(), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False
        ),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("machine", "metric", "design")),
        sa.Column("cases", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.Double(), nullable=False)
            for name in ("freedom", "logs", "squares", "expected")
        ),
        sa.PrimaryKeyConstraint("run_id", "machine", "metric", "design"),
    )
    op.create_index("ix_start_variances_machine", "start_variances", ["machine"])
