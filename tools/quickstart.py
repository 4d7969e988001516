# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools/quickstart does around the model: sentences to token ids, embeddings to similarities."""

import pathlib
import sys

import numpy as np

SENTENCES = ["A cat sits on the warm windowsill.", "A kitten is resting by the window.", "Interest rates rose again."]


def encode(tokenizer_file, work):
    """Writes ids.npy and mask.npy, padded to the longest sentence."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(tokenizer_file)
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(SENTENCES)
    np.save(work / "ids.npy", np.array([encoding.ids for encoding in encodings], np.int64))
    np.save(work / "mask.npy", np.array([encoding.attention_mask for encoding in encodings], np.int64))


def compare(work):
    """Prints the cosine of each pair of sentences. The model calls its sentence embedding 461."""
    embeddings = np.load(work / "out.npz")["461"].astype(np.float64)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    similar = embeddings @ embeddings.T
    for i, first in enumerate(SENTENCES):
        for j in range(i + 1, len(SENTENCES)):
            print(f"{similar[i, j]:6.3f}  {first}  |  {SENTENCES[j]}")


if __name__ == "__main__":
    if sys.argv[1] == "encode":
        encode(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        compare(pathlib.Path(sys.argv[2]))
