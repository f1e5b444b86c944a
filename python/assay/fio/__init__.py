"""Job files of fio: read into a study, written from a cell, and the same cell run by both.

`from assay.fio import imports` and so on: importing this package loads nothing else.
"""
