"""Rate Adaptive TCP: Karnik and Kumar, 2000 [ratcp]."""
