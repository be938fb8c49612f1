"""Measurements of the service beside others; each module with a `main` is one program."""

from __future__ import annotations
