"""How much sooner drafts make a text: tokens a second with and without them.

    python bench/language/drafts.py --cache DIRECTORY [--shape llama] [--quantize int8]
                           [--acceptance 0.7] [--threads 1] [--rounds 11]

The model has the shape of language_models.py and random weights. Drafts are
simulated: each token is the right one with the given probability, and costs
nothing, so the figures are those of `verify` alone; what an assistant takes
comes on top. In each round all numbers of draft tokens run once, in an order
that rotates, and every text is compared with the one without drafts. Time is
that of the processor, and with several threads that of the clock.
"""

import argparse
import os
import random
import statistics
import time

import etx
import etx.hf
import torch
import transformers

from language_models import SHAPES

VERIFY, LENGTH, PROMPT = 8, 512, 16


def model_of(shape):
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=shape["width"], intermediate_size=shape["inner"],
        num_attention_heads=shape["heads"], num_key_value_heads=shape["key_heads"],
        head_dim=shape["head"], num_hidden_layers=shape["layers"],
        vocab_size=shape["words"], max_position_embeddings=LENGTH,
        eos_token_id=None, pad_token_id=0, bos_token_id=1)).eval()


def planned(options):
    path = os.path.join(options.cache, f"drafts-{options.shape}-{options.quantize}.pte")
    if not os.path.exists(path):
        os.makedirs(options.cache, exist_ok=True)
        quantize = None if options.quantize == "none" else options.quantize
        etx.hf.export(model_of(SHAPES[options.shape]), max_length=LENGTH, verify=VERIFY,
                      quantize=quantize).plan(path)
    return path


def simulated(text, acceptance, count, seed):
    """Drafts of `count` tokens, each of which is right with this probability."""
    chance = random.Random(seed)

    def propose(ids, most):
        right = text[len(ids):len(ids) + min(count, most)]
        return [t if chance.random() < acceptance else (t + 1) % 100 for t in right]

    return propose


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", required=True, metavar="DIRECTORY")
    parser.add_argument("--shape", default="llama", choices=sorted(SHAPES))
    parser.add_argument("--quantize", default="int8", help="as of etx plan, or none")
    parser.add_argument("--acceptance", type=float, default=0.7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--tokens", type=int, default=64)
    options = parser.parse_args()
    session = etx.load(planned(options), threads=options.threads).session()
    clock = time.process_time if options.threads == 1 else time.perf_counter
    prompt = [[(7 * i + 3) % 500 for i in range(PROMPT)]]
    text = session.generate(prompt, max_new_tokens=options.tokens)[0].tolist()
    counts = [0, 1, 2, 3, 4, 5, 7]
    seconds = {count: [] for count in counts}
    accepted = {}
    for turn in range(options.rounds):
        for i in range(len(counts)):
            count = counts[(turn + i) % len(counts)]
            draft = simulated(text, options.acceptance, count, turn)
            start = clock()
            found = session.generate(
                prompt, max_new_tokens=options.tokens, return_dict_in_generate=True,
                draft_tokens=draft if count else None)
            seconds[count].append(clock() - start)
            assert found.sequences[0].tolist() == text, "a draft changed the text"
            accepted[count] = found.accepted / max(found.drafted, 1)
    print("| draft | tokens/s | sooner | quartiles | accepted |\n|---|---|---|---|---|")
    for count in counts:
        ratios = [a / b for a, b in zip(seconds[0], seconds[count])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"| {count} | {options.tokens / statistics.median(seconds[count]):.2f} | "
              f"{middle:.2f} | {low:.2f} to {high:.2f} | {accepted[count]:.2f} |")


if __name__ == "__main__":
    main()
