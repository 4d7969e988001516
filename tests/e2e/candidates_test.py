# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts for measurements: every candidate gives the expected results of its kernel's small case and, at the model's
sizes, the bits of the config that the compiler takes today.
"""

import ctypes
import json
import pathlib
import subprocess
import tempfile
import unittest

import compiler
import heddle
from heddle import LIBRARY, Program, check, handle, size_t, text, to_array
from models import SHARED, missing

TIMING, CHECK = 0, 1
SHAPES = tuple(",".join(f"{name}={size}" for name in ("input_ids", "attention_mask", "token_type_ids")).encode()
               for size in ("1x9", "4x24"))
NAMED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, text, text, text)


class LeftOut(ctypes.Structure):
    _fields_ = [("signature", text), ("rows", text), ("config", text)]


class Options(ctypes.Structure):
    _fields_ = [("compile", ctypes.POINTER(compiler.Options)), ("shapes", ctypes.POINTER(text)),
                ("shape_count", size_t), ("seconds", text), ("limits", text), ("most_candidates", size_t),
                ("most_share", ctypes.c_double), ("left_out", ctypes.POINTER(LeftOut)), ("left_out_count", size_t),
                ("on_candidate", NAMED), ("on_candidate_user", ctypes.c_void_p)]


def model():
    """A small BERT with heads, norms and a mask."""
    path = SHARED / "models/bert.ts-sdpa/model.onnx"
    if not path.exists():
        missing(f"no {path}")
    return path


def export(output, left_out=(), named=None, targets=b"cpu", shapes=SHAPES, **given):
    """Writes an artifact for measurements to OUTPUT. Gives exit code, summary and errors."""
    compile_options = compiler.Options(model_path=str(model()).encode(), output_path=str(output).encode(),
                                       targets=targets, thread_count=1)
    skipped = (LeftOut * len(left_out))(*left_out)
    options = Options(compile=ctypes.pointer(compile_options), shapes=(text * len(shapes))(*shapes),
                      shape_count=len(shapes), most_share=1, left_out=skipped, left_out_count=len(left_out), **given)
    if named is not None:
        options.on_candidate = NAMED(lambda _, *names: named.append(tuple(name.decode() for name in names)))
    out, errors = ctypes.c_void_p(), ctypes.c_void_p()
    code = compiler.LIBRARY.heddle_compiler_export_candidates(ctypes.byref(options), ctypes.byref(out),
                                                              ctypes.byref(errors))
    texts = [ctypes.string_at(t.value).decode() if t.value else "" for t in (out, errors)]
    for t in (out, errors):
        compiler.LIBRARY.heddle_compiler_free(t)
    return code, *texts


def inspect(artifact):
    """What `heddle inspect --json` says of ARTIFACT."""
    command = [str(heddle.BUILD / "bin/heddle"), "inspect", "--json", str(artifact)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


class Measured(Program):
    """An artifact for measurements; its entry points run by their names."""

    def inputs_of(self, number, group, kind):
        entry = next(e for e in self.entries if e["name"] == group["candidates"][0]["entry"])
        tensors = (handle * len(entry["inputs"]))()
        check(LIBRARY.heddle_candidate_inputs_create(self.program, size_t(number), kind, tensors, len(tensors)))
        return tensors, len(entry["outputs"])

    def run_entry(self, name, inputs, output_count):
        results = (handle * output_count)()
        check(LIBRARY.heddle_session_run(self.session, name.encode(), inputs, len(inputs), results, output_count))
        # A kernel needn't write all of its result, another one may have the rest: it is run again over zeros.
        for tensor in results:
            ctypes.memset(LIBRARY.heddle_tensor_data(tensor), 0, LIBRARY.heddle_tensor_byte_length(tensor))
        check(LIBRARY.heddle_session_run(self.session, name.encode(), inputs, len(inputs), results, output_count))
        return results

    def difference(self, number, outputs):
        worst = ctypes.c_double(-1)
        check(LIBRARY.heddle_candidate_compare(self.program, size_t(number), outputs, len(outputs),
                                               ctypes.byref(worst)))
        return worst.value


class CandidatesTestCase(unittest.TestCase):
    """|device| and |targets|: where it all runs."""

    device, targets = None, b"cpu"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        compiler.LIBRARY.heddle_compiler_export_candidates.argtypes = [
            ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)]

    def run_all(self, artifact, groups, entries):
        program = Measured(artifact, threads=2, device=self.device)
        program.entries = entries
        for number, group in enumerate(groups):
            kinds = [TIMING] + [CHECK] * group["has_expected"]
            for kind in kinds:
                inputs, count = program.inputs_of(number, group, kind)
                bits = None
                for candidate in group["candidates"]:
                    outputs = program.run_entry(candidate["entry"], inputs, count)
                    if kind == CHECK:
                        self.assertLessEqual(program.difference(number, outputs), 1, (group["signature"], candidate))
                    now = [to_array(output).tobytes() for output in outputs]
                    bits = bits or now
                    self.assertEqual(now, bits, (group["signature"], candidate))
                for tensor in inputs:
                    LIBRARY.heddle_tensor_release(tensor)

    def check_all(self, **options):
        """Runs all candidates of an artifact by OPTIONS. Gives its groups."""
        artifact, named = self.folder / "candidates.heddle", []
        code, summary, errors = export(artifact, named=named, targets=self.targets, **options)
        self.assertEqual(code, 0, errors)
        said = inspect(artifact)
        groups = said["candidate_groups"]
        self.assertRegex(summary, rf"^{len(groups)} kernels in \d+ configs")
        offered = {(g["signature"], g["rows"], c["config"]) for g in groups for c in g["candidates"]}
        self.assertLessEqual(set(named), offered)
        self.run_all(artifact, groups, said["entries"])
        roots = {group["signature"].split("_")[1] for group in groups}
        self.assertLessEqual({"contract", "attention"}, roots)
        return groups


class CandidatesTest(CandidatesTestCase):
    def test_all_candidates_give_the_expected_results(self):
        groups = self.check_all(most_candidates=4)
        shares = [group["share"] for group in groups]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertLessEqual(sum(shares), 1 + 1e-6)
        buckets = {group["rows"] for group in groups if "_contract_" in group["signature"]}
        self.assertLessEqual({"5-16", "65-256"}, buckets, "both shapes are measured")
        self.assertTrue(any(group["has_expected"] for group in groups))

    def test_the_same_options_give_the_same_bytes(self):
        files = [self.folder / name for name in ("a.heddle", "b.heddle")]
        for file in files:
            self.assertEqual(export(file, targets=self.targets, most_candidates=2, shapes=SHAPES[:1])[0], 0)
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def test_what_is_left_out_stays_out(self):
        artifact = self.folder / "candidates.heddle"
        self.assertEqual(export(artifact, targets=self.targets, most_candidates=3, shapes=SHAPES[:1])[0], 0)
        group = inspect(artifact)["candidate_groups"][0]
        first, second = (candidate["config"] for candidate in group["candidates"][:2])
        out = [LeftOut(group["signature"].encode(), group["rows"].encode(), config.encode())
               for config in (first, second)]
        self.assertEqual(export(artifact, out, targets=self.targets, most_candidates=3, shapes=SHAPES[:1])[0], 0)
        configs = [candidate["config"] for candidate in inspect(artifact)["candidate_groups"][0]["candidates"]]
        self.assertEqual(configs[0], first, "the config of today can't be left out")
        self.assertNotIn(second, configs)

    def test_wrong_requests_are_refused(self):
        artifact = self.folder / "candidates.heddle"
        for given, message in (({"shapes": (b"input_ids=1x1000,attention_mask=1x1000,token_type_ids=1x1000",)},
                                "can't run with --shape input_ids=1x1000"),
                               ({"shapes": (b"ids=1x7",)}, "no input is named 'ids'"),
                               ({"limits": b"[1]"}, "limits: got no object"),
                               ({"limits": b'{"threads": "two"}'}, "'threads' is no limit"),
                               ({"seconds": b'{"kernel": -1}'}, "kernel 'kernel' has no time"),
                               ({"targets": b"cpu,vulkan"}, "candidates are for one target, got 2")):
            code, _, errors = export(artifact, **{"targets": self.targets, **given})
            self.assertEqual(code, 2, errors)
            self.assertIn(message, errors)
            self.assertFalse(artifact.exists())


if __name__ == "__main__":
    unittest.main()
