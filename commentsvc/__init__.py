"""Readers' comments for static blogs: one process, one data file."""
