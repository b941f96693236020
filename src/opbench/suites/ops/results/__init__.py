"""Results of operators as rows and files."""
