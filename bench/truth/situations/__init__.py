"""The situations, by kind."""
