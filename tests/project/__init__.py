"""Tests of the project itself: its files, its packaging, its harness."""
