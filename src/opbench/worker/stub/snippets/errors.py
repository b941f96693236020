"""What a definition that cannot be run says, at the line where it was written."""


class SnippetError(ValueError):
    """A mistake in a snippet's definition; the text says what is wrong and what would be right."""
