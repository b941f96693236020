"""What a person writes: suites, users' own files and run files, each yielding Definitions."""
