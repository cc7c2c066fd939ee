"""[lrl] again: TCP over links whose capacity answers the load."""
