# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What quantisation costs where people use the models: embeddings of real sentences, their neighbours, their ranks.

The Lee documents come with similarities as people judge them, the s-labs sentences with a label. Each text is embedded
alone, at its own length.
"""

import csv
import dataclasses
import pathlib

import numpy as np

import engines
import workloads
from heddle_library import Library, Program

SENTENCES = 2000
NEIGHBOURS = 5
LONGEST = 512


@dataclasses.dataclass
class Texts:
    """|ids|: the tokens of each text; the first |documents| are Lee's, judged by |human|; the others have |labels|."""
    ids: list
    documents: int
    human: np.ndarray
    labels: np.ndarray


def read_texts():
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(workloads.fetched("minilm-tokenizer") / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    lee = workloads.fetched("lee")
    documents = (lee / "lee.cor").read_text("latin-1").splitlines()
    with (workloads.fetched("s-labs") / "validation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))[:SENTENCES]
    ids = [np.array(tokenizer.encode(text).ids, np.int64) for text in documents + [row["text"] for row in rows]]
    human = np.loadtxt(lee / "similarities0-1.txt")[np.triu_indices(len(documents), 1)]
    return Texts(ids, len(documents), human, np.array([int(row["label"]) for row in rows]))


def embed(artifact, output, texts, settings):
    """A unit vector for each text: the mean over its tokens where OUTPUT has one vector for each."""
    program, runs = Program(Library(settings.build / "lib/libheddle.so"), artifact, threads=2), {}
    result = []
    for ids in texts.ids:
        ids = ids[None]
        if ids.shape not in runs:
            feeds = {name: np.zeros_like(ids) for name in program.inputs} | {"attention_mask": np.ones_like(ids)}
            # The arrays that the program keeps reading; texts of one length share them.
            runs[ids.shape] = (feeds["input_ids"], program.bind(feeds, output))
        shared, run = runs[ids.shape]
        shared[...] = ids
        vectors = run()[0].astype(np.float64)
        result.append(vectors.mean(axis=0) if vectors.ndim == 2 else vectors)
    result = np.array(result)
    return result / np.linalg.norm(result, axis=1, keepdims=True)


def ranks(values):
    """Ranks of VALUES; equal ones share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((2 * ends - counts - 1) / 2)[inverse]


def spearman(vectors, texts):
    """How the documents' similarities rank against people's."""
    vectors = vectors[:texts.documents]
    ours = (vectors @ vectors.T)[np.triu_indices(texts.documents, 1)]
    return float(np.corrcoef(ranks(ours), ranks(texts.human))[0, 1])


def neighbour_accuracy(vectors, texts):
    """Per cent of the sentences whose nearest others have, by majority, their label."""
    vectors = vectors[texts.documents:]
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -np.inf)
    nearest = np.argpartition(-similar, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    guesses = texts.labels[nearest].mean(axis=1) > 0.5
    return 100 * float((guesses == texts.labels).mean())


@dataclasses.dataclass
class Loss:
    """Cosines of the quantised embeddings to the f32 ones, and both tasks' scores, f32 and quantised."""
    cosines: np.ndarray
    spearman: tuple
    neighbours: tuple


def loss(model, output, options, texts, settings):
    """What compiling MODEL (an .onnx file) with OPTIONS costs on TEXTS."""
    model = pathlib.Path(model)
    artifacts = [engines.heddle_artifact(settings.build, model, settings.scratch)[0],
                 engines.heddle_artifact(settings.build, model, settings.scratch, f"{model.stem}.w8a8", *options)[0]]
    vectors = [embed(artifact, output, texts, settings) for artifact in artifacts]
    return Loss((vectors[0] * vectors[1]).sum(axis=1), tuple(spearman(each, texts) for each in vectors),
                tuple(neighbour_accuracy(each, texts) for each in vectors))
