"""What is new for one identity: events, and the calls that wait for them."""
