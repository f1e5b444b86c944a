"""Results as tables: Parquet files beside the records, read with DuckDB."""

from assay.results.store.results import Results, load

__all__ = ["Results", "load"]
