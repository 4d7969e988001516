# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holding everything that runs to an older instruction set than this machine's: what bounds for it are judged by.

cpuid_mask.c answers cpuid for engines, numpy and Heddle alike; here are found the instructions that it replaces. All
processes started after `hold` are held, and `check_held` tells of a thread that isn't.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sysconfig

import catalog

ISAS = ("x86-64-v3",)
HELD = "HEDDLE_BENCH_ISA"
# Where each engine's code is, below site-packages.
FOLDERS = {"onnxruntime": ["onnxruntime/capi"], "openvino": ["openvino/libs"], "ctranslate2": ["ctranslate2.libs"],
           "iree": ["iree/_runtime_libs"], "torch": ["torch/lib"]}
COMMON = ["numpy", "numpy.libs"]
# Of Heddle: what runs artifacts. The compiler and the benchmark of kernels alone are told their target.
PROGRAMS = ("bin/heddle", "lib/libheddle.so")
# Never loaded for a CPU, and large.
OTHER_DEVICES = re.compile("cuda|gpu|npu|nvshmem")
# glibc's own string functions have cpuid behind them that runs before anything could replace it.
LIBC_WITHOUT_AVX512 = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW"


def held():
    """The instruction set that this process is held to, or None."""
    return os.environ.get(HELD)


def objects(engines, build):
    """The files whose cpuid instructions count: ENGINES', numpy's, Heddle's in BUILD."""
    site = pathlib.Path(sysconfig.get_paths()["platlib"])
    folders = COMMON + [folder for engine in engines for folder in FOLDERS.get(catalog.package_of(engine), [])]
    files = {file.resolve() for folder in folders for file in (site / folder).rglob("*.so*")}
    files |= {file.resolve() for pattern in PROGRAMS for file in build.glob(pattern)}
    return sorted(file for file in files if not OTHER_DEVICES.search(file.name))


def find_sites(path):
    """The addresses of all cpuid instructions in the file PATH, in hexadecimal."""
    # Disassembling takes a second for each 10 MB, and most files don't even have the two bytes.
    if b"\x0f\xa2" not in path.read_bytes():
        return []
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--wide", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        found = [re.match(r" *([0-9a-f]+):\tcpuid\b", line) for line in run.stdout]
    if run.returncode:
        raise SystemExit(f"objdump can't disassemble {path}")
    return [match[1] for match in found if match]


def write_sites(files, folder):
    """Writes what cpuid_mask.c reads into FOLDER; files that are unchanged since the last time aren't read again."""
    cache = folder / "cpuid_sites.json"
    known = json.loads(cache.read_text()) if cache.exists() else {}
    for file in files:
        facts = file.stat()
        version = [facts.st_size, facts.st_mtime_ns]
        if known.get(str(file), {}).get("version") != version:
            known[str(file)] = {"version": version, "sites": find_sites(file)}
    cache.write_text(json.dumps(known))
    sites = folder / "cpuid_sites.txt"
    sites.write_text("".join(f"{file} {site}\n" for file in files for site in known[str(file)]["sites"]))
    return sites


def hold(isa, engines, build, folder):
    """Holds all processes started from now on to ISA; FOLDER keeps what that takes."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "cpuid_mask.so"
    source = pathlib.Path(__file__).with_name("cpuid_mask.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    os.environ |= {HELD: isa, "LD_AUDIT": str(library), "GLIBC_TUNABLES": LIBC_WITHOUT_AVX512,
                   "CPUID_MASK_SITES": str(write_sites(objects(engines, build), folder))}


def check_held():
    """Raises where the calling thread has run code that it should not have been able to find."""
    if held() and ctypes.CDLL(os.environ["LD_AUDIT"]).cpuid_mask_was_evaded():
        raise RuntimeError(f"it has run AVX-512 though it was to be held to {held()}")
