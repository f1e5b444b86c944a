"""`assay dbms`: real databases."""
