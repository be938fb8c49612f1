"""What spans apps: removal and blocking with their threads, expiry, retention, the schedule of jobs."""
