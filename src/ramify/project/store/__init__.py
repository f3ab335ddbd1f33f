"""What lies on disk; nothing here imports a learner."""
