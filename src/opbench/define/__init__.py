"""What people write: suites, users' own files and run files, each yielding Definitions."""
