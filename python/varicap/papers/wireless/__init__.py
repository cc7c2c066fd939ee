"""TCP over wireless links with link-level error control: Chaskar, Lakshman and Madhow, 1999 [wireless]."""
