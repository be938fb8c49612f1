"""Files of a chat: up, down, changed, deleted, and where their bytes lie."""
