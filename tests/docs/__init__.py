"""What the pages say, run as they say it."""
