"""How each framework accounts for the bytes it allocates."""
