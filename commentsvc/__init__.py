"""Readers' comments for static blogs: by default one process and one data file."""
