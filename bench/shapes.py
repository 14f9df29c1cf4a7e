"""Sizes of the translators. ETX_BENCH_SHAPE chooses one: `opus-mt`, with random
weights, or `trained`, the one of the sample."""

import os

NAME = os.environ.get("ETX_BENCH_SHAPE", "opus-mt")
VOCABULARY, WIDTH, HEADS, INNER, LAYERS = {
    "opus-mt": (58101, 512, 8, 2048, 6),
    "trained": (596, 128, 4, 512, 3),
}[NAME]
HEAD = WIDTH // HEADS
PADDING, END = VOCABULARY - 1, 0
SOURCE, STEPS, CAPACITY = 32, 32, 64
# Sentences at once, and steps of each, for a batch.
BATCH, BATCH_STEPS = 32, 8
SEED = 7
# Weights that a step reads: those of layers and output, without biases.
STEP_WEIGHTS = (LAYERS * (6 * WIDTH * WIDTH + 2 * WIDTH * INNER) +
                WIDTH * VOCABULARY)
