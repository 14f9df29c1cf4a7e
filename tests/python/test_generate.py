"""Generation against the package transformers: processors, sampling, beams, drafts."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import generation_models as models

import etx
import etx.hf

pytestmark = pytest.mark.filterwarnings("ignore")

VOCAB = 97


# ---- processors and probabilities ----


def processors(options: dict, prompt: int, longest: int):
    """The list that transformers makes of these options, in its order."""
    config = transformers.GenerationConfig(
        **{name: value for name, value in options.items() if not name.endswith("presence_penalty")}
    )
    config.max_length = longest
    model = models.reference(0)
    ends = options.get("eos_token_id")
    config._eos_token_tensor = None if ends is None else torch.tensor(ends)
    return model._get_logits_processor(config, input_ids_seq_length=prompt, device="cpu")


def random_options(rng: np.random.Generator) -> dict:
    """Each option in about a third of the cases."""
    some = lambda count: [int(token) for token in rng.integers(0, VOCAB, count)]
    choices = {
        "temperature": lambda: float(rng.uniform(0.3, 2.5)),
        "top_k": lambda: int(rng.integers(1, 2 * VOCAB)),
        "top_p": lambda: float(rng.uniform(0.05, 0.99)),
        "min_p": lambda: float(rng.uniform(0.001, 0.5)),
        "typical_p": lambda: float(rng.uniform(0.05, 0.99)),
        "repetition_penalty": lambda: float(rng.uniform(0.6, 1.8)),
        "no_repeat_ngram_size": lambda: int(rng.integers(1, 4)),
        "bad_words_ids": lambda: [some(int(rng.integers(1, 4))) for _ in range(4)],
        "sequence_bias": lambda: {
            tuple(some(int(rng.integers(1, 3)))): float(rng.normal() * 3) for _ in range(4)
        },
        "min_length": lambda: int(rng.integers(1, 20)),
        "min_new_tokens": lambda: int(rng.integers(1, 8)),
        "forced_bos_token_id": lambda: some(1)[0],
        "forced_eos_token_id": lambda: some(1)[0],
        "suppress_tokens": lambda: some(5),
        "begin_suppress_tokens": lambda: some(5),
    }
    options = {name: draw() for name, draw in choices.items() if rng.random() < 0.33}
    options.setdefault("top_k", 0)
    options["eos_token_id"] = sorted(set(some(2)))
    # transformers 5 refuses a token that is forced and suppressed.
    forced = [options.get(f"forced_{name}_token_id") for name in ("bos", "eos")]
    for name in {"suppress_tokens", "begin_suppress_tokens"} & set(options):
        options[name] = [token for token in options[name] if token not in forced]
    return options


def is_near_a_border(logits: torch.Tensor, options: dict, list_) -> bool:
    """True if a cut lies so near a token that rounding decides about it."""
    names = ("top_p", "min_p", "typical_p")
    for step in (1 - 2e-6, 1 + 2e-6):
        moved = {k: min(v * step, 1.0) if k in names else v for k, v in options.items()}
        kept = [torch.isfinite(f(logits)) for f in (list_(options), list_(moved))]
        if not torch.equal(*kept):
            return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_probabilities_are_those_of_transformers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    checked = 0
    while checked < 5:
        options = random_options(rng)
        length = int(rng.integers(1, 24))
        prompt = int(rng.integers(1, length + 1))
        longest = prompt + int(rng.integers(length - prompt + 1, length - prompt + 4))
        # Few different tokens, so that n-grams and bad words occur.
        ids = rng.integers(0, 6, length)
        logits = (rng.normal(size=VOCAB) * 3).astype(np.float32)

        def scores(given: dict):
            list_ = processors({**given, "do_sample": True}, prompt, longest)
            return lambda row: list_(torch.tensor(ids)[None], row.clone())

        row = torch.tensor(logits)[None]
        if is_near_a_border(row, options, scores):
            continue
        expected = torch.softmax(scores(options)(row), -1)[0].numpy()
        if np.isnan(expected).any():  # nothing is left
            with pytest.raises(etx.ArgumentError):
                etx.token_probabilities(
                    logits, ids, prompt_length=prompt, max_new_tokens=longest - prompt, **options
                )
            checked += 1
            continue
        found = etx.token_probabilities(
            logits, ids, prompt_length=prompt, max_new_tokens=longest - prompt, **options
        )
        assert np.array_equal(found > 0, expected > 0), options
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-5, err_msg=str(options))
        checked += 1


def test_frequency_and_presence_count_new_tokens() -> None:
    logits = np.zeros(8, dtype=np.float32)
    found = etx.token_probabilities(
        logits, [1, 2, 3, 3, 3, 4], prompt_length=2, frequency_penalty=0.5,
        presence_penalty=0.25, top_k=0,
    )  # fmt: skip
    changed = np.array([0, 0, 0, 3 * 0.5 + 0.25, 0.75, 0, 0, 0])
    expected = np.exp(-changed) / np.exp(-changed).sum()
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 0},
        {"top_k": 0, "temperature": 0.6},
        {"top_k": 7},
        {"top_k": 0, "top_p": 0.8},
        {"top_k": 0, "min_p": 0.1},
        {"top_k": 0, "typical_p": 0.7},
        {"top_k": 9, "top_p": 0.9, "temperature": 1.7, "repetition_penalty": 1.4},
    ],
)  # fmt: skip
def test_draws_have_these_probabilities(options: dict) -> None:
    """Chi-square of 10^5 draws; 5 standard deviations are one test in 10^6."""
    rng = np.random.default_rng(5)
    logits = rng.normal(size=32).astype(np.float32)
    list_ = processors({**options, "do_sample": True}, 3, 20)
    ids = torch.tensor([[1, 2, 3]])
    shares = torch.softmax(list_(ids, torch.tensor(logits)[None]), -1)[0].numpy()
    draws = 100_000
    drawn = etx.sample_tokens(logits, [1, 2, 3], count=draws, seed=11, **options)
    counts = np.bincount(drawn, minlength=len(shares))
    kept = shares > 0
    assert counts[~kept].sum() == 0
    expected = shares[kept].astype(np.float64) * draws
    square = ((counts[kept] - expected) ** 2 / expected).sum()
    freedom = kept.sum() - 1
    assert abs(square - freedom) < 5 * math.sqrt(2 * freedom) + 5


def test_a_seed_stands_for_its_tokens() -> None:
    """Recorded from a build of gcc on x86-64; other machines draw the same."""
    logits = (np.arange(50) * 37 % 50).astype(np.float32) / 16
    drawn = etx.sample_tokens(logits, count=8, seed=3, top_p=0.9)
    assert drawn.tolist() == SEED_3
    assert etx.sample_tokens(logits, count=8, seed=4, top_p=0.9).tolist() != SEED_3


SEED_3 = [31, 9, 8, 44, 4, 43, 31, 4]


# ---- whole texts ----


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generation")
    return {
        (rows, beams): models.plan(folder / f"{rows}_{beams}.pte", 1, rows, beams)
        for rows, beams in ((1, 1), (3, 1), (8, 4))
    }


def prompts(rng: np.random.Generator, texts: int, most: int = 14):
    """Ids and mask; all but the first text may have padding at the start."""
    ids = rng.integers(3, models.VOCAB, (texts, int(rng.integers(2, most))))
    mask = np.ones_like(ids)
    for row in range(1, texts):
        padding = int(rng.integers(0, ids.shape[1]))
        mask[row, :padding] = 0
        ids[row, :padding] = models.END
    return ids, mask


def expected(seed: int, ids, mask, **options):
    options.setdefault("do_sample", False)
    return models.reference(seed).generate(
        torch.tensor(ids), attention_mask=torch.tensor(mask), return_dict_in_generate=True,
        output_scores=True, **options,
    )  # fmt: skip


def random_search(rng: np.random.Generator, mask) -> dict:
    # transformers 4 counts padding as text, transformers 5 does not, nor does etx.
    has_penalty = mask.all() or int(transformers.__version__.split(".")[0]) >= 5
    return {
        "max_new_tokens": int(rng.integers(1, 25)),
        "no_repeat_ngram_size": int(rng.choice([0, 2, 3])),
        "repetition_penalty": float(rng.choice([1.0, 1.3])) if has_penalty else 1.0,
        "min_new_tokens": int(rng.choice([0, 5])),
    }


@pytest.mark.parametrize("seed", range(12))
def test_greedy_texts_are_those_of_transformers(programs, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = (1, 3, 2)[seed % 3]
    session = programs[(1, 1) if texts == 1 else (3, 1)].session()
    ids, mask = prompts(rng, texts)
    options = random_search(rng, mask)
    found = session.generate(ids, attention_mask=mask, pad_token_id=models.END, **options)
    assert np.array_equal(found, expected(1, ids, mask, **options).sequences.numpy())


@pytest.mark.parametrize("seed", range(24))
def test_beams_are_those_of_transformers(programs, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    ids, mask = prompts(rng, 1 + seed % 2)
    options = random_search(rng, mask)
    options["num_beams"] = int(rng.integers(2, 5))
    options["length_penalty"] = float(rng.choice([0, 0.5, 1, 2, -1]))
    options["early_stopping"] = (False, True, "never")[rng.integers(0, 3)]
    options["num_return_sequences"] = int(rng.integers(1, options["num_beams"] + 1))
    found = programs[8, 4].session().generate(
        ids, attention_mask=mask, pad_token_id=models.END, return_dict_in_generate=True, **options
    )
    other = expected(1, ids, mask, **options)
    assert np.array_equal(found.sequences, other.sequences.numpy()), options
    np.testing.assert_allclose(found.sequences_scores, other.sequences_scores, atol=1e-4)


def test_drawn_beams_are_probable_texts(programs) -> None:
    """The sum of log probabilities of drawn beams is that of the reference."""
    ids = np.array([[5, 6, 7]])
    session = programs[8, 4].session()
    options = {"do_sample": True, "num_beams": 4, "max_new_tokens": 9, "top_k": 0}
    found = session.generate(ids, seed=1, return_dict_in_generate=True, length_penalty=0.0, **options)
    again = session.generate(ids, seed=1, length_penalty=0.0, **options)
    assert np.array_equal(found.sequences, again)
    text = torch.tensor(found.sequences)
    model, total = models.reference(1), 0.0
    for at in range(ids.shape[1], text.shape[1]):
        logits = model(text[:, :at]).logits[0, -1]
        total += torch.log_softmax(logits, -1)[text[0, at]].item()
    assert abs(total - found.sequences_scores[0]) < 1e-4
    seeds = {tuple(session.generate(ids, seed=seed, **options)[0]) for seed in range(8)}
    assert len(seeds) > 1


@pytest.mark.parametrize("stated", ["integers", "tensor"])
def test_each_of_several_end_tokens_ends_a_text(programs, tmp_path, stated) -> None:
    """The second token of the list is the one that a text meets, and the last of it."""
    ids = np.array([[5, 6, 7, 8]])
    whole = programs[1, 1].session().generate(ids, max_new_tokens=30, eos_token_id=[])[0].tolist()
    new = whole[4:]
    end = next(token for token in new[3:] if token not in new[:3])
    other = next(token for token in range(models.VOCAB) if token not in new)
    ends = [other, end]
    given = ends if stated == "integers" else torch.tensor(ends)
    program = models.plan(tmp_path / "ends.pte", 1, ends=given)
    assert np.asarray(program.constants["get_eos_ids"]).tolist() == ends
    found = program.session().generate(ids, max_new_tokens=30)
    wanted = models.reference(1).generate(
        torch.tensor(ids), max_new_tokens=30, do_sample=False, eos_token_id=ends, pad_token_id=0
    )
    assert found[0].tolist() == wanted[0].tolist()
    assert found[0, -1] == end and found.shape[1] < 34


def test_more_end_tokens_than_are_read_are_refused(tmp_path) -> None:
    """More of them are stated as one tensor."""
    with pytest.raises(etx.RangeError, match="'get_eos_ids' has 33 outputs.*one tensor"):
        models.plan(tmp_path / "a.pte", 0, ends=[1] * 33).session().generate(np.array([[5]]))
    models.plan(tmp_path / "b.pte", 0, ends=torch.ones(33, dtype=torch.int64)).session().generate(np.array([[5]]))


def test_cached_tokens_continue_a_text(programs) -> None:
    session = programs[1, 1].session()
    ids = np.array([[5, 6, 7, 8]])
    whole = session.generate(ids, max_new_tokens=12, eos_token_id=[])
    part = session.generate(ids, max_new_tokens=5, eos_token_id=[])
    cached = part.shape[1] - 1
    rest = session.generate(part, max_new_tokens=7, eos_token_id=[], cached_tokens=cached)
    assert np.array_equal(whole, rest)
    snapshot = session.save()
    other = programs[1, 1].session()
    other.restore(snapshot)
    assert np.array_equal(
        other.generate(ids, max_new_tokens=12, eos_token_id=[], cached_tokens=3), whole
    )
    with pytest.raises(etx.RangeError, match="cached_count is 4"):
        session.generate(ids, cached_tokens=4)


@pytest.mark.parametrize("texts", [1, 3])
def test_the_function_for_tokens_ends_all_texts(programs, texts: int) -> None:
    session = programs[(1, 1) if texts == 1 else (3, 1)].session()
    ids = np.array([[5, 6, 7, 8]] * texts)
    whole = session.generate(ids, max_new_tokens=10, eos_token_id=[])
    seen = []

    def stop(text: int, token: int):
        seen.append((text, token))
        return len(seen) < 3 * texts

    found = session.generate(
        ids, max_new_tokens=10, eos_token_id=[], on_token=stop, return_dict_in_generate=True
    )
    assert [token for text, token in seen if text == 0] == whole[0, 4:7].tolist()
    assert np.array_equal(found.sequences, whole[:, :7])
    assert set(found.ends) == {"cancelled"}
    assert np.array_equal(session.generate(ids, max_new_tokens=10, eos_token_id=[]), whole)


def test_an_error_of_the_function_is_raised(programs) -> None:
    session = programs[1, 1].session()

    def fail(text: int, token: int):
        session.reset()  # refused: the session is in use

    with pytest.raises(etx.StateError):
        session.generate([5, 6], on_token=fail)
    assert session.generate([5, 6], max_new_tokens=2).shape[0] == 1


PIECES = ["<s>", "</s>", "<end>", "a", "b", "ab", "ba", "\n", "\n\n", "Us", "er", "User:"]


@pytest.mark.parametrize("seed", range(30))
def test_stop_strings_over_borders_of_tokens(programs, seed: int) -> None:
    """Against a search in the text of all tokens, one by one."""
    rng = np.random.default_rng(seed)
    piece = lambda token: PIECES[token % len(PIECES)]
    session = programs[1, 1].session()
    ids = rng.integers(3, models.VOCAB, (1, 4))
    whole = session.generate(ids, max_new_tokens=30, eos_token_id=[])[0]
    text = "".join(piece(token) for token in whole)
    begin = int(rng.integers(0, len(text) - 3))
    strings = [text[begin : begin + int(rng.integers(1, 9))], "\n\nUser:"]
    found = session.generate(
        ids, max_new_tokens=30, eos_token_id=[], stop_strings=strings, tokenizer=piece,
        return_dict_in_generate=True,
    )  # fmt: skip

    def stops(count: int) -> bool:
        before = len("".join(piece(token) for token in whole[: count - 1]))
        so_far = "".join(piece(token) for token in whole[:count])
        return any(
            so_far[:end].endswith(string)
            for string in strings
            for end in range(before + 1, len(so_far) + 1)
        )

    count = next((n for n in range(5, len(whole) + 1) if stops(n)), len(whole))
    assert found.lengths == (count,)
    assert found.ends == ("stop_string" if count < len(whole) or stops(count) else "length",)


# ---- an encoder and a decoder ----


def test_a_decoder_reads_what_its_encoder_read(tmp_path) -> None:
    hf = pytest.importorskip("etx.hf")
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=8, num_layers=1, num_heads=4, d_ff=48,
        decoder_start_token_id=0, eos_token_id=1, pad_token_id=0, initializer_factor=8.0,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    hf.export(model, max_length=24, max_prompt=16, beams=3).plan(tmp_path / "t5.pte")
    session = etx.load(tmp_path / "t5.pte").session()
    rng = np.random.default_rng(0)
    for beams in (1, 3, 2):
        ids = np.append(rng.integers(3, 64, (1, 9)), [[1]], axis=1)
        options = {"max_new_tokens": 20, "num_beams": beams}
        other = model.generate(torch.tensor(ids), do_sample=False, **options)
        assert np.array_equal(session.generate(ids, **options), other.numpy())


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": 0.0, "do_sample": True}, "temperature is 0"),
        ({"temperature": 1e300}, "temperature is 1"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"num_beams": 2}, "2 beams each need 2 rows"),
        ({"num_return_sequences": 2}, "num_return_sequences is 2"),
        ({"suppress_tokens": [99]}, "suppress_tokens has token 99, expected 0 to 30"),
        ({"stop_strings": "a"}, "need the texts of tokens"),
        ({"temprature": 1.0}, "no option 'temprature'"),
        ({"suppress_tokens": list(range(31))}, "leave no token"),
        ({"top_k": -1}, "top_k is -1"),
        ({"early_stopping": "soon"}, "early_stopping is 'soon'"),
        ({"repetition_penalty": float("nan")}, "repetition_penalty"),
    ],
)
def test_wrong_options_are_named(programs, options: dict, words: str) -> None:
    session = programs[1, 1].session()
    with pytest.raises(etx.ArgumentError, match=words):
        session.generate([5, 6], **options)


def test_wrong_prompts_are_named(programs) -> None:
    session = programs[1, 1].session()
    with pytest.raises(etx.ArgumentError, match="token 1 of text 0 is 31"):
        session.generate([5, 31])
    with pytest.raises(etx.RangeError, match="the prompt has 48 tokens, expected 1 to 47"):
        session.generate(np.full(48, 5))
    with pytest.raises(etx.ArgumentError, match="expected token ids"):
        session.generate([0.5, 1.5])
    with pytest.raises(etx.ArgumentError, match="attention_mask"):
        session.generate([5, 6], attention_mask=[1, 0])
    full = session.generate(np.full(47, 5), max_new_tokens=9, return_dict_in_generate=True)
    assert full.lengths == (48,) and full.ends == ("length",)


# ---- drafts: texts with them are those of transformers, whatever is drafted ----


WORDS, LENGTH = 61, 96
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def llama(width, layers, seed, words=WORDS):
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
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
def pair(tmp_path_factory):
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


def greedy_of(model, ids, steps):
    with torch.no_grad():
        return model.generate(
            torch.tensor(ids), max_new_tokens=steps, do_sample=False, use_cache=True,
            attention_mask=torch.ones(ids.shape, dtype=torch.int64),
        ).numpy()


@pytest.mark.parametrize("source", ["near", "far", "lookup", "right", "wrong", "none", "outside"])
def test_drafted_texts_are_those_of_transformers(pair, source):
    for seed, count in enumerate((1, 5, 40)):
        prompt = prompt_of(count, seed)
        wanted = greedy_of(pair["model"], prompt, 48)
        drafts = {
            "near": {"assistant_model": pair["near"]},
            "far": {"assistant_model": pair["far"], "num_assistant_tokens": 3},
            "lookup": {"prompt_lookup_num_tokens": 4.0, "max_matching_ngram_size": None},
            "right": {"draft_tokens": lambda ids, most: wanted[0, len(ids) : len(ids) + most]},
            "wrong": {"draft_tokens": lambda ids, most: [3] * most},
            "none": {"draft_tokens": lambda ids, most: []},
            "outside": {"draft_tokens": lambda ids, most: [WORDS, -1] * 9},
        }[source]
        found = pair["session"].generate(
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


def test_drawn_texts_are_those_without_drafts(pair):
    session, accepted = pair["session"], {"near": 0, "far": 0}
    for seed in range(6):
        prompt = prompt_of(7, seed)
        options = {
            "max_new_tokens": 40, "do_sample": True, "temperature": 0.9, "top_k": 20, "seed": seed,
            "repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "suppress_tokens": [4, 5],
        }
        wanted = session.generate(prompt, **options)
        for name in accepted:
            found = session.generate(
                prompt, assistant_model=pair[name], return_dict_in_generate=True, **options
            )
            assert found.sequences.tolist() == wanted.tolist()
            accepted[name] += found.accepted
    assert accepted["near"] > 60 > accepted["far"]


def test_a_text_may_end_inside_of_a_draft(pair):
    session, prompt = pair["session"], prompt_of(5)
    wanted = greedy_of(pair["model"], prompt, 40)
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


def test_texts_reach_the_end_of_the_caches(pair):
    prompt = prompt_of(30)
    wanted = greedy_of(pair["model"], prompt, LENGTH - 30)
    for draft in (
        {"draft_tokens": lambda ids, most: wanted[0, len(ids) : len(ids) + most]},
        {"assistant_model": pair["near"]},
    ):
        found = pair["session"].generate(prompt, max_new_tokens=200, **draft)
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


def test_an_assistant_may_know_fewer_tokens(pair):
    small = session_of(llama(32, 1, 7, words=50), pair["folder"] / "few.pte")
    prompt = prompt_of(5)
    prompt[0, 2] = WORDS - 1  # unknown to the assistant
    wanted = greedy_of(pair["model"], prompt, 20)
    found = pair["session"].generate(
        prompt, max_new_tokens=20, assistant_model=small, return_dict_in_generate=True
    )
    assert found.sequences.tolist() == wanted.tolist()
    assert found.drafted == 0


def test_what_cannot_be_drafted_is_refused(pair):
    session, near = pair["session"], pair["near"]
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
    wanted = greedy_of(pair["model"], prompt, 8)
    assert session.generate(prompt, max_new_tokens=8, assistant_model=near).tolist() == wanted.tolist()
