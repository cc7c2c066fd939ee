"""How deep a token bucket, how often its timer, how much buffer: each from the others."""

from varicap.design.token_bucket.solve import Design, Evidence, token_bucket

__all__ = ["Design", "Evidence", "token_bucket"]
