"""Congestion controls on LEO satellite links: what public sources state of them, at handovers and by random loss."""
