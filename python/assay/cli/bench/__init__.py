"""`assay bench`: Assay's own cost beside fio's."""
