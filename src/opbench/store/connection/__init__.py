"""Opening a store: what its address means, the SQLite file, the PostgreSQL server, transactions."""
