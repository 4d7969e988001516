# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words that names of passes are made of."""

import re

VERBS = ("convert raise infer fuse decompose tile vectorize bufferize quantize fold propagate outline select "
         "print verify").split()
PREFIXES = "nn attn kernel rt cpu vulkan".split()
KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def snake(name):
    """FuseHeads -> fuse_heads"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
