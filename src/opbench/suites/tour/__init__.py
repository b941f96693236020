"""The suite `tour`: what `opbench run` measures when nothing is named."""
