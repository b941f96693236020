"""C++ statements: their source, the compiled library, and the loop that calls it."""
