"""Results of a fleet say which node they come from."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.add_column("results", sa.Column("node", sa.Text(), nullable=False, server_default=""))
