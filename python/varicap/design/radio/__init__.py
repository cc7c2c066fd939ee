"""A wireless link with ARQ, which the questions `buffer` and `packet` are about: its description and its simulation."""

from varicap.design.radio.link import Radio, read_channel

__all__ = ["Radio", "read_channel"]
