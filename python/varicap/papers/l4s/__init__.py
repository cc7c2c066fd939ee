"""L4S Tests: Heist and Morton, 2020 and 2021 [l4stests]; measurements with Linux of 2020, not a paper."""
