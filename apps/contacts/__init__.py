"""Who may talk to whom and where: requests, blocks, policies, chats and their members."""
