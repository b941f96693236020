"""How cases are sampled: designs, lanes, drift control, and the results made of samples."""
