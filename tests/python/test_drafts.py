"""Drafts: texts with them are those of transformers, or of no drafts, whatever is drafted."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")

import etx
import etx.hf

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS, LENGTH = 61, 96
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def llama(width, layers, seed, words=WORDS):
    torch.manual_seed(seed)
    model = hf.LlamaForCausalLM(hf.LlamaConfig(
        hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=LENGTH,
        **{**SPECIAL, "vocab_size": words},
    ))
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, 1.3 / part[0].numel() ** 0.5)
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    return model.eval()


def similar(model, noise):
    """A model that chooses most of the tokens that the other one does."""
    other = llama(64, 2, 1)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        for part in other.parameters():
            part.add_(torch.randn(part.shape, generator=torch.Generator().manual_seed(3)) * noise * part.std())
    return other


def session_of(model, path, **options):
    etx.hf.export(model, max_length=LENGTH, max_prompt=16, **options).plan(path)
    return etx.load(path).session()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drafts")
    model = llama(64, 2, 1)
    return {
        "model": model,
        "session": session_of(model, folder / "large.pte", verify=6),
        "near": session_of(similar(model, 0.01), folder / "near.pte"),
        "far": session_of(llama(32, 1, 7), folder / "far.pte"),
        "folder": folder,
    }


def prompt_of(count, seed=0):
    return np.random.default_rng(seed).integers(3, WORDS, (1, count))


def greedy(model, ids, steps):
    with torch.no_grad():
        return model.generate(
            torch.tensor(ids), max_new_tokens=steps, do_sample=False, use_cache=True,
            attention_mask=torch.ones(ids.shape, dtype=torch.int64),
        ).numpy()


@pytest.mark.parametrize("source", ["near", "far", "lookup", "right", "wrong", "none", "outside"])
def test_greedy_texts_are_those_of_transformers(models, source):
    for seed, count in enumerate((1, 5, 40)):
        prompt = prompt_of(count, seed)
        wanted = greedy(models["model"], prompt, 48)
        drafts = {
            "near": {"assistant_model": models["near"]},
            "far": {"assistant_model": models["far"], "num_assistant_tokens": 3},
            "lookup": {"prompt_lookup_num_tokens": 4},
            "right": {"draft_tokens": lambda ids, most: wanted[0, len(ids) : len(ids) + most]},
            "wrong": {"draft_tokens": lambda ids, most: [3] * most},
            "none": {"draft_tokens": lambda ids, most: []},
            "outside": {"draft_tokens": lambda ids, most: [WORDS, -1] * 9},
        }[source]
        found = models["session"].generate(
            prompt, max_new_tokens=48, return_dict_in_generate=True, **drafts
        )
        assert found.sequences.tolist() == wanted.tolist()
        assert 0 <= found.accepted <= found.drafted
        if source == "right":  # 5 of a draft and one behind it, 8 times
            assert (found.drafted, found.accepted) == (39, 39)
        if source == "near":
            assert found.accepted > 0.5 * found.drafted > 0
        if source in ("none", "outside"):
            assert found.drafted == 0


def test_drawn_texts_are_those_without_drafts(models):
    session, accepted = models["session"], {"near": 0, "far": 0}
    for seed in range(6):
        prompt = prompt_of(7, seed)
        options = {
            "max_new_tokens": 40, "do_sample": True, "temperature": 0.9, "top_k": 20, "seed": seed,
            "repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "suppress_tokens": [4, 5],
        }
        wanted = session.generate(prompt, **options)
        for name in accepted:
            found = session.generate(
                prompt, assistant_model=models[name], return_dict_in_generate=True, **options
            )
            assert found.sequences.tolist() == wanted.tolist()
            accepted[name] += found.accepted
    assert accepted["near"] > 60 > accepted["far"]


def test_a_text_may_end_inside_of_a_draft(models):
    session, prompt = models["session"], prompt_of(5)
    wanted = greedy(models["model"], prompt, 40)
    draft = {"draft_tokens": lambda ids, most: wanted[0, len(ids) : len(ids) + most]}
    for steps in range(1, 12):
        assert session.generate(prompt, max_new_tokens=steps, **draft).tolist() == wanted[:, : 5 + steps].tolist()
    end = int(wanted[0, 14])
    first = wanted[0].tolist().index(end, 5)
    found = session.generate(prompt, max_new_tokens=40, eos_token_id=end, return_dict_in_generate=True, **draft)
    assert found.sequences.tolist() == wanted[:, : first + 1].tolist()
    assert found.ends == ("end_token",)
    seen = []
    session.generate(prompt, max_new_tokens=40, on_token=lambda text, id: seen.append(id) or len(seen) < 9, **draft)
    assert seen == wanted[0, 5:14].tolist()
    # The session is as usable as after any call: the next turn continues what is cached.
    longer = wanted[:, :20]
    found = session.generate(longer, cached_tokens=13, max_new_tokens=20)
    assert found.tolist() == wanted[:, :40].tolist()


def test_texts_reach_the_end_of_the_caches(models):
    prompt = prompt_of(30)
    wanted = greedy(models["model"], prompt, LENGTH - 30)
    for draft in (
        {"draft_tokens": lambda ids, most: wanted[0, len(ids) : len(ids) + most]},
        {"assistant_model": models["near"]},
    ):
        found = models["session"].generate(prompt, max_new_tokens=200, **draft)
        assert found.tolist() == wanted.tolist()


class Pairs(torch.nn.Module):
    """Logits of a token depend on the last two tokens. `verify` takes exactly four."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, LENGTH, dtype=torch.int64))
        self.register_buffer("head", torch.randn(WORDS, WORDS, generator=torch.Generator().manual_seed(5)))

    def logits(self, last, before):
        return self.head[last] + self.head[before].flip(-1)

    def verify(self, input_ids, position):
        places = position + torch.arange(input_ids.shape[1])
        self.seen.index_copy_(1, places, input_ids)
        return self.logits(self.seen[:, places], self.seen[:, (places - 1).clamp(min=0)])

    def decode(self, input_ids, position):
        return self.verify(input_ids, position)[:, -1]


def test_a_program_may_verify_a_fixed_number_of_tokens(tmp_path):
    module = Pairs()

    def inputs(count):
        return {"input_ids": torch.ones(1, count, dtype=torch.int64), "position": torch.tensor([0])}

    etx.export(
        module, {"decode": inputs(1), "verify": inputs(4)}, constants={"get_max_context_len": LENGTH}
    ).plan(tmp_path / "pairs.pte")
    session = etx.load(tmp_path / "pairs.pte").session()
    ids = [7, 9]
    while len(ids) < LENGTH:
        ids.append(int(module.logits(torch.tensor(ids[-1]), torch.tensor(ids[-2])).argmax()))
    for right in (0, 1, 2, 3, 9):  # so many tokens of a draft are right
        draft = lambda ids_so_far, most: [
            ids[len(ids_so_far) + i] ^ (i >= right) for i in range(most)
        ]
        found = session.generate([7, 9], max_new_tokens=500, draft_tokens=draft)
        assert found[0].tolist() == ids


def test_an_assistant_may_know_fewer_tokens(models):
    small = session_of(llama(32, 1, 7, words=50), models["folder"] / "few.pte")
    prompt = prompt_of(5)
    prompt[0, 2] = WORDS - 1  # unknown to the assistant
    wanted = greedy(models["model"], prompt, 20)
    found = models["session"].generate(
        prompt, max_new_tokens=20, assistant_model=small, return_dict_in_generate=True
    )
    assert found.sequences.tolist() == wanted.tolist()
    assert found.drafted == 0


def test_what_cannot_be_drafted_is_refused(models):
    session, near = models["session"], models["near"]
    prompt = prompt_of(3)
    with pytest.raises(etx.ArgumentError, match="method 'verify'.*verify=8"):
        near.generate(prompt, prompt_lookup_num_tokens=3)
    with pytest.raises(etx.ArgumentError, match="one text without beams|need 2 rows|2 texts"):
        session.generate(np.repeat(prompt, 2, 0), prompt_lookup_num_tokens=3)
    with pytest.raises(etx.ArgumentError, match="one source of drafts"):
        session.generate(prompt, prompt_lookup_num_tokens=3, assistant_model=near)
    with pytest.raises(etx.StateError):
        session.generate(prompt, assistant_model=session)
    with pytest.raises(ZeroDivisionError):
        session.generate(prompt, draft_tokens=lambda ids, most: [1 // 0])
    with pytest.raises(etx.ArgumentError, match="num_assistant_tokens"):
        session.generate(prompt, assistant_model=near, num_assistant_tokens=-1)
    # Nothing of this costs a session.
    wanted = greedy(models["model"], prompt, 8)
    assert session.generate(prompt, max_new_tokens=8, assistant_model=near).tolist() == wanted.tolist()
