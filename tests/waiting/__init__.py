"""Waiting: what ends a wait, what a wait costs, and what a lost part of the service does to it."""
