"""The suite `peaks`: what this machine can do at most, and the roofline under it."""
