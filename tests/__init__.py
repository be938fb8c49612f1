"""The tests. They mirror the source, one file per endpoint or action; what they stand on is in `harness`."""
