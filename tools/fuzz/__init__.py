"""Fuzzers: ``make fuzz`` tries what strangers might do, with seeds."""
