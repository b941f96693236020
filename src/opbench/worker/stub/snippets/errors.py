"""The error of a definition that cannot run, raised where it is written."""


class SnippetError(ValueError):
    """A mistake in a snippet's definition; the text says what is wrong and what would be right."""
