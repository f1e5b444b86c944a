"""Work records: what runs of indexes, engines and databases leave (`schema/work.schema.json`).

`run` has the measuring program do such work, `build` makes a record of work that was driven from here, `folder` keeps
records as files, and `view` prints them.
"""

from assay.study.work.build import Figures, WorkDraft, check, figure, part
from assay.study.work.folder import load, save
from assay.study.work.run import run_work
from assay.study.work.view import show

__all__ = ["Figures", "WorkDraft", "check", "figure", "load", "part", "run_work", "save", "show"]
