"""A wireless link with ARQ, which the questions `buffer` and `packet` are about: its description and its simulation."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "link")
