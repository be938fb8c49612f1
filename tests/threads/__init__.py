"""Threads: their states, leases, repeats and races, and `/v1/threads`."""
