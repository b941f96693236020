"""Short-lived processes that answer one question about an interpreter, a framework or a file."""
