"""Assay in a notebook: run a study, compare two sides, look at results as frames, charts, Arrow tables and HTML.

import assay

results = assay.run("quick", on="/mnt/data")    # or assay.load(DIR)
results                                         # its answers and verdicts, as the notebook shows it
results.classes                                 # a pandas DataFrame
results.arrow("select code, count(*) from verdicts group by 1")
results.chart("dana-ladder-ladder")             # an Altair chart
assay.compare("/mnt/a", "/mnt/b").frame         # which of two is better
"""

import sys
from types import ModuleType

from assay.notebook.comparing import Compared, compare
from assay.notebook.frames import Frames, load
from assay.notebook.running import run


class _Room(ModuleType):
    """The room `assay.compare`, whose name the function shares: it can be called, too."""

    __call__ = staticmethod(compare)


sys.modules["assay.compare"].__class__ = _Room

__all__ = ["Compared", "Frames", "compare", "load", "run"]
