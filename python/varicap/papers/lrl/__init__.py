"""TCP over links whose capacity responds to the load [lrl]."""
