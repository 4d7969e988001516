# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The importer's table of operators against the definitions in the pinned onnx package: names are spelled right, no
newer opset exists than the builders have been read against, and numbers of inputs are ONNX's."""

import os
import pathlib
import re
import unittest

import onnx

FOLDER = pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"]) / "compiler/import/onnx"
ROW = re.compile(r'\{"([\w.]*)",\s*"(\w+)",\s*(\d+),\s*(\d+),\s*(\d+|kVariadic),')

# What onnxruntime's optimiser writes into the default domain, whatever its version.
OPTIMISED = {("LayerNormalization", 1), ("SimplifiedLayerNormalization", 1)}
# What is left of an If once its branches are expanded has their outputs as inputs.
EXPANDED = {("If", 1)}


def rows():
    """(type, since, least inputs, most inputs) of each row for an operator of ONNX's."""
    for path in sorted(FOLDER.glob("*Ops.cpp")):
        for domain, kind, since, least, most in ROW.findall(path.read_text()):
            if not domain and (kind, int(since)) not in OPTIMISED | EXPANDED:
                yield kind, int(since), int(least), None if most == "kVariadic" else int(most)


class VersionsTest(unittest.TestCase):
    def setUp(self):
        newest = re.search(r"kNewestOpset = (\d+)", (FOLDER / "OpTable.h").read_text())
        self.newest = int(newest.group(1))
        self.schemas = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "":
                self.schemas.setdefault(schema.name, []).append(schema)

    def test_builders_know_the_newest_opset(self):
        self.assertEqual(self.newest, onnx.defs.onnx_opset_version())

    def test_operators_exist_since_the_version_in_the_table(self):
        found = list(rows())
        self.assertGreater(len(found), 90)
        for kind, since, _, _ in found:
            with self.subTest(operator=kind):
                # A later version than the first is fine: then the older forms are refused.
                self.assertIn(since, [schema.since_version for schema in self.schemas[kind]])

    def test_numbers_of_inputs_are_those_of_onnx(self):
        for kind, since, least, most in rows():
            versions = [schema for schema in self.schemas[kind] if schema.since_version >= since]
            with self.subTest(operator=kind):
                self.assertEqual(least, min(schema.min_input for schema in versions))
                # 2^31 - 1 stands for any number.
                highest = max(schema.max_input for schema in versions)
                self.assertEqual(most, None if highest > 1000 else highest)


if __name__ == "__main__":
    unittest.main()
