"""The talk: entries, threads, leases, history."""
