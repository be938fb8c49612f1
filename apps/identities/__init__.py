"""Who: users, accounts, numbers, handles, skills, credentials, keys, registration."""
