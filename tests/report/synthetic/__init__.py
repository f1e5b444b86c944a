"""Result folders that look like a run's: records of the right types, made from a small model of a drive and a seed."""
