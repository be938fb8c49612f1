"""What the tests stand on: the real service as a process of its own, and the people who call it."""
