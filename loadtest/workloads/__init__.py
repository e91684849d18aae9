"""What is asked: each module plays one load."""
