"""Adapters: each turns what a surface printed into a `Claim`. An adapter takes text alone, so that a lie can be planted in it."""
