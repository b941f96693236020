"""The built-in suites: everything of one suite in one folder."""
