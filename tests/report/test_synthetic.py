"""The made-up records are of the type of real ones; otherwise the other tests would prove nothing."""

import json
from pathlib import Path

import pytest
from jsonschema.validators import validator_for  # type: ignore[import-untyped]


def test_made_up_records_are_of_the_schema(finished: Path, root: Path) -> None:
    path = root / "schema" / "record.schema.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    schema = json.loads(path.read_text())
    validator = validator_for(schema)(schema)
    for record in sorted((finished / "records").glob("*-000*.json")):
        faults = [
            f"{record.name}: {fault.json_path}: {fault.message}"
            for fault in validator.iter_errors(json.loads(record.read_text()))
        ]
        assert not faults
