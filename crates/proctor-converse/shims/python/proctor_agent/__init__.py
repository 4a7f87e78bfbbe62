"""Drives an agent in Python for Proctor. Nothing here imports a framework: what the user has imported is recognised by its type."""
