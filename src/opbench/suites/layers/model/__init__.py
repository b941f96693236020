"""One DP-SGD step of a user's model: what privacy costs it, and which of its layers cost it."""
