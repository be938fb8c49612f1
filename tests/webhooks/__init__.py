"""Webhooks, through real HTTP against a real service and real receivers."""
