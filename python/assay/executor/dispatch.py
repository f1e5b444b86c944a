"""The measuring program, asked by an executor: a document of many questions goes in parts, and runs go one to each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from assay.binary import Binary, said
from assay.error import BAD_JOB, AssayError
from assay.executor.work import SerialExecutor, WorkExecutor
from assay.untyped import Json

_EACH = 2
"""Parts for each worker of an executor: with one, whoever is done first waits for the rest."""


class Dispatcher:
    """Questions and runs for the measuring program, by whoever computes: this process where nobody is named."""

    def __init__(self, executor: WorkExecutor | None = None) -> None:
        self.executor: WorkExecutor = executor or SerialExecutor()

    def solutions(self, document: Json) -> list[Json]:
        """Answers to the questions of a document, in their order."""
        parts = list(split(document, _EACH * self.executor.size)) if self.executor.size > 1 else [document]
        return [one for found in self.executor.do(predicted, parts) for one in found["answers"]]

    def runs(self, jobs: Sequence[Json]) -> list[Json]:
        """Each job run to its end: `last`, its last event, and `said`, the last sentence of its messages."""
        return self.executor.do(ended, jobs)


def split(document: Json, parts: int) -> Iterator[Json]:
    """The questions in so many runs of neighbours at most, each with the targets and hosts that it needs alone."""
    questions = document["questions"]
    size = max(1, -(-len(questions) // parts))
    for begin in range(0, len(questions), size):
        yield document | _part(document, questions[begin : begin + size])


def _part(document: Json, questions: Sequence[Json]) -> Json:
    found: Json = {"questions": [dict(one) for one in questions]}
    for one, many in (("target", "targets"), ("host", "hosts")):
        places = {place: number for number, place in enumerate(dict.fromkeys(each[one] for each in questions))}
        found[many] = [document[many][place] for place in places]
        for each in found["questions"]:
            each[one] = places[each[one]]
    return found


def predicted(document: Json) -> Any:
    """The measuring program's answers to a document of questions."""
    return Binary.find().document("predict", "-", given=document)


def ended(job: Json) -> Json:
    """A run on twins to its end.

    Raises:
        AssayError: where it would touch something: whoever asks for computing may not have anything measured.
    """
    if any(target["kind"] != "twin" for target in job["targets"]):
        raise AssayError("only runs on twins are computed", hint="use `assay run`", code=BAD_JOB)
    with tempfile.TemporaryFile() as log:
        run = Binary.find().start(job, log)
        last: Json = {}
        for event in run.events():
            last = event
        run.wait()
        log.seek(0)
        return {"last": last, "said": said(log.read().decode(errors="replace"))[0]}
