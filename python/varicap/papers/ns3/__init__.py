"""ns-3's validation cases of DCTCP and CUBIC [ns3]: what its own programs and test suites check, of its newest TCP."""
