"""The suite `snippets`, and the snippets of users' files as definitions."""
