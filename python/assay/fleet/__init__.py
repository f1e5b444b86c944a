"""The same study on many hosts at one moment. Scheduling and transport are Dask's; what may be run is Assay's alone."""
