"""Libraries that the environments plug into, each with clients that are trained and evaluated."""
