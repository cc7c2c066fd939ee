"""BBR version 3: the example test cases of its draft [bbr3]."""
