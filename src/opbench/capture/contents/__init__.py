"""What a tensor contained: recorded in `regimes`, checked on reading in `decoding`."""
