"""Inboxes: what is published, in which order it is read, and `GET /v1/inbox`."""
