"""Live delivery as its clients see it: Server-Sent Events and the WebSocket of a running service."""
