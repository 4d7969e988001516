# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base of the end-to-end tests: artifacts are compiled once a file of tests, into a folder that goes with it."""

import functools
import pathlib
import tempfile
import unittest

import command
import models


class ArtifactTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="heddle-e2e-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)

    @classmethod
    @functools.lru_cache(maxsize=None)
    def artifact(cls, model):
        """The artifact of MODEL for this host."""
        name = f"{model.parent.name}-{model.stem}.heddle"
        return command.compile_model(model, cls.scratch / name)

    @classmethod
    def minilm(cls):
        return cls.artifact(models.minilm())
