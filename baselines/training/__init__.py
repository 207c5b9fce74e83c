"""Training: the loop, learners, and a run's folder."""
