"""`assay fio`: job files of fio's."""
