"""What a killed process loses and doubles: nothing."""
