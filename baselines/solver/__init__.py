"""Small boards of the sliding games, solved exactly."""
