"""Other servers under the same load."""
