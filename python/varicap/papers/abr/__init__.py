"""TCP over end-to-end rate control: Shakkottai, Kumar, Karnik and Anvekar, 2001 [abr]."""
