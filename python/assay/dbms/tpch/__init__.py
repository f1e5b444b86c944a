"""TPC-H-like runs: data, queries, answers, protocols. Not comparable with published TPC results."""
