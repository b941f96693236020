"""What one framework alone has: operators of ATen, blocks of Gluon."""
