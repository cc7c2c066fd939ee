"""Throughput advice: what the SCONE draft says of it [scone], tested, and what it gains on links that vary."""
