"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "meta",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("finished", sa.Double()),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in [
                "status",
                "command",
                "version",
                "project_commit",
                "machine",
                "policy",
                "request",
            ]
        ),
    )
    for column in ("name", "created", "project_commit"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "cases",
        sa.Column("hash", sa.Text(), primary_key=True),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in [
                "id",
                "suite",
                "name",
                "stage",
                "language",
                "framework",
                "runtime",
                "device",
                "dtype",
            ]
        ),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.Double(), nullable=False),
    )
    op.create_index("ix_cases_id", "cases", ["id"])
    op.create_table(
        "environments",
        sa.Column("fingerprint", sa.Text(), primary_key=True),
        sa.Column("facts", sa.Text(), nullable=False),
    )
    op.create_table(
        "results",
        sa.Column("id", number, primary_key=True),
        sa.Column(
            "run_id", sa.Text(), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("case_hash", sa.Text(), sa.ForeignKey("cases.hash"), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("metric", "unit", "outcome", "reason")
        ),
        *(sa.Column(name, sa.Double()) for name in ("estimate", "low", "high")),
        sa.Column("n_samples", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in [
                "warnings",
                "detail",
                "environment",
                "fingerprint",
                "place",
                "policy",
                "group_name",
            ]
        ),
        sa.Column("created", sa.Double(), nullable=False),
        sa.UniqueConstraint(
            "run_id", "case_hash", "metric", "place", "policy", name="uq_results_key"
        ),
    )
    op.create_index("ix_results_case_metric", "results", ["case_hash", "metric"])
    op.create_index("ix_results_metric", "results", ["metric"])
    op.create_table(
        "samples",
        sa.Column(
            "result_id",
            number,
            sa.ForeignKey("results.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
    )
