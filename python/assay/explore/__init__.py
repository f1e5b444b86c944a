"""The whole catalog at once: millions of points of twins, by Dask on the cores there are, as Parquet for DuckDB."""
