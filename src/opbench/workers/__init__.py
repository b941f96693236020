"""Our side of the worker processes: start them, pool them, open sessions in them."""
