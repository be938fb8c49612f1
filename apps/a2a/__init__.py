"""A2A 1.0 over JSON-RPC: cards, methods, and the mapping of threads to tasks."""
