"""What is in the database: a blog, its comments, their texts, accounts."""
