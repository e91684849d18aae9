"""The data: a blog, its comments, their texts, accounts."""
