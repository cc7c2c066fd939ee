"""[minrate]: TCP over networks with minimum rate guarantees."""
