"""TPC-C-like runs on real databases: loaded once, copied to each target, driven, checked, compared."""
