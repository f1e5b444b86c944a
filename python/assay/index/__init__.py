"""Persistent indexes: waits out of twins, sweeps, what runs cost. A run of one is work of a study."""
