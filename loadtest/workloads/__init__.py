"""The workloads: each module plays one load."""
