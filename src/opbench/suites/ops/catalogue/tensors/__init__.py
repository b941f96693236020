"""Making, moving, reducing and searching tensors."""
