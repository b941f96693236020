"""What a person reads in a terminal: the tables of a run, and the console they are printed with."""
