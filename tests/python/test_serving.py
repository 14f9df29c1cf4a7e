"""etx.serving: texts that start and end at different times, against transformers and against
the same text alone."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")

from test_models import LAYERS, WORDS, ids, llama, planned, varied, whole

import etx
import etx.hf
import etx.serving

pytestmark = pytest.mark.filterwarnings("ignore")
torch.set_num_threads(1)
LENGTHS = (5, 21, 1, 9, 3, 4, 11, 17, 2, 30)


def gemma2():
    """Its first layer has a window, the second one none."""
    return varied(hf.Gemma2ForCausalLM(hf.Gemma2Config(
        **LAYERS, num_key_value_heads=2, head_dim=16, sliding_window=6
    )))


def gpt2():
    return varied(hf.GPT2LMHeadModel(hf.GPT2Config(
        n_embd=64, n_layer=1, n_head=4, n_positions=64, vocab_size=WORDS
    )))


def stablelm():
    """Of those that make their masks themselves in transformers 4."""
    return varied(hf.StableLmForCausalLM(hf.StableLmConfig(
        **{**LAYERS, "num_hidden_layers": 1}, num_key_value_heads=4
    )))


def expected(model, prompt, count, **options):
    """New tokens of greedy search."""
    found = model.generate(prompt, max_new_tokens=count, do_sample=False, pad_token_id=0, **options)
    return found[0, prompt.shape[1]:].tolist()


@pytest.fixture(scope="module")
def model():
    return llama()


@pytest.fixture(scope="module")
def program(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    return etx.load(planned(
        model, folder, max_length=60, max_prompt=8, batch=3, batching="continuous"
    ))


@pytest.fixture
def batch(program):
    return etx.serving.TextBatch(program.session())


def finish(batch):
    while batch.step():
        pass


@pytest.mark.parametrize("make", [llama, gemma2, gpt2, stablelm])
def test_texts_of_different_lengths_share_rows(make, model, program, tmp_path):
    if make is not llama:
        model = make()
        program = etx.load(planned(
            model, tmp_path, max_length=60, max_prompt=8, batch=3, batching="continuous"
        ))
    batch = etx.serving.TextBatch(program.session())
    torch.manual_seed(3)
    prompts = [ids(1, length) for length in LENGTHS]
    counts = [7 + 5 * (number % 4) for number in range(len(prompts))]
    texts = []
    for prompt, count in zip(prompts, counts):  # each comes while others run
        texts.append(batch.add(prompt[0].tolist(), max_new_tokens=count))
        batch.step()
        batch.step()
    finish(batch)
    for text, prompt, count in zip(texts, prompts, counts):
        assert (text.end, text.error) == ("length", None)
        assert text.tokens == expected(model, prompt, count)
    assert batch.counts.finished == {"length": len(prompts)}
    assert batch.counts.prompt_tokens == sum(LENGTHS)
    assert batch.counts.new_tokens == batch.counts.decode_rows + len(prompts) == sum(counts)


def test_one_row_and_one_token_are_enough(model, tmp_path):
    batch = etx.serving.TextBatch(etx.load(planned(
        model, tmp_path, max_length=30, max_prompt=1, batch=1, batching="continuous"
    )).session())
    prompts = [ids(1, 4), ids(1, 1)]
    texts = [batch.add(prompt[0].numpy(), max_new_tokens=9) for prompt in prompts]
    finish(batch)
    assert [text.tokens for text in texts] == [expected(model, prompt, 9) for prompt in prompts]


@pytest.mark.parametrize("options", [
    {"do_sample": True, "temperature": 0.9, "top_p": 0.9, "seed": 7},
    {"do_sample": True, "top_k": 0, "min_p": 0.01, "seed": 8, "frequency_penalty": 0.5},
    {"presence_penalty": 1.5, "repetition_penalty": 1.2},
    {"no_repeat_ngram_size": 2, "suppress_tokens": [5, 6, 7], "forced_bos_token_id": 9},
    {"sequence_bias": [(8, 3.0)], "eos_token_id": [8, 9], "min_new_tokens": 4},
])
def test_options_are_those_of_generate(options, model, batch, tmp_path):
    alone = etx.load(planned(model, tmp_path, max_length=60, max_prompt=8)).session()
    prompts = [ids(length).numpy() for length in LENGTHS[:6]]
    texts = [batch.add(prompt, max_new_tokens=20, **options) for prompt in prompts]
    finish(batch)
    for text, prompt in zip(texts, prompts):
        found = alone.generate(prompt, max_new_tokens=20, **options)[0]
        assert text.tokens == found[len(prompt):].tolist()


def test_a_text_ends_with_an_end_token_and_at_the_end_of_the_caches(model, batch):
    prompt = ids(1, 50)
    wanted = expected(model, prompt, 10)
    ended = batch.add(prompt[0], max_new_tokens=10, eos_token_id=wanted[3])
    full = batch.add(prompt[0], max_new_tokens=1000)
    finish(batch)
    assert (ended.end, ended.tokens) == ("end_token", wanted[: wanted.index(wanted[3]) + 1])
    assert (full.end, full.tokens) == ("length", wanted)


def test_log_probabilities_are_those_of_the_model(model, batch):
    prompt = ids(1, 7)
    text = batch.add(prompt[0], max_new_tokens=6, logprobs=4, do_sample=True, temperature=3.0, seed=1)
    finish(batch)
    tokens = np.concatenate([prompt.numpy(), np.array([text.tokens])], 1)
    wanted = torch.log_softmax(torch.tensor(whole(model, tokens)[0, 6:-1]), -1).numpy()
    assert [item.token for item in text.logprobs] == text.tokens
    for item, row in zip(text.logprobs, wanted):
        assert item.logprob == pytest.approx(row[item.token], abs=1e-3)
        best = np.argsort(-row)[:4]
        assert [token for token, _ in item.top] == best.tolist()
        np.testing.assert_allclose([share for _, share in item.top], row[best], atol=1e-3)


def test_a_cancelled_text_frees_its_row_and_others_go_on(model, program):
    batch = etx.serving.TextBatch(program.session())
    prompts = [ids(1, length) for length in (5, 20, 3, 9, 2)]  # two of them wait
    texts = [batch.add(prompt[0], max_new_tokens=25) for prompt in prompts]
    for _ in range(2):
        batch.step()
    assert (batch.counts.running, batch.counts.waiting) == (3, 2)
    for number in (0, 1, 4):  # one that runs, one whose prompt is not complete, one that waits
        texts[number].cancel()
    batch.step()
    assert [text.end for text in texts] == ["cancelled", "cancelled", None, None, "cancelled"]
    assert (batch.counts.running, batch.counts.waiting) == (2, 0)
    finish(batch)
    for number in (2, 3):
        assert texts[number].tokens == expected(model, prompts[number], 25)


def test_callbacks_end_only_their_text(model, batch):
    def fails(text, token):
        if len(text.tokens) == 3:
            raise KeyError("mine")

    ends = []
    prompt = ids(1, 4)
    broken = batch.add(prompt[0], on_token=fails, on_end=ends.append)
    ended = batch.add(prompt[0], on_token=lambda text, token: len(text.tokens) < 5)
    bad_end = batch.add(prompt[0], max_new_tokens=2, on_end=lambda text: 1 / 0)
    good = batch.add(prompt[0], max_new_tokens=25)
    finish(batch)
    assert broken.end == "failed" and isinstance(broken.error, KeyError) and ends == [broken]
    assert (ended.end, len(ended.tokens)) == ("cancelled", 5)
    assert bad_end.end == "length" and bad_end.tokens == good.tokens[:2]
    assert good.tokens == expected(model, prompt, 25)
    assert batch.counts.finished == {"failed": 1, "cancelled": 1, "length": 2}


def test_a_timeout_ends_texts_that_run_and_that_wait(batch):
    texts = [batch.add([5, 6], max_new_tokens=40, timeout=0.01) for _ in range(5)]
    batch.step()
    time.sleep(0.02)
    assert not batch.step()
    assert {text.end for text in texts} == {"timeout"}


def test_a_failed_run_ends_the_texts_that_ran_and_the_batch_goes_on(model, program, monkeypatch):
    batch = etx.serving.TextBatch(program.session())
    lost = [batch.add([5, 6, 7]) for _ in range(3)]
    other = batch.add([5, 6, 7], max_new_tokens=4)  # waits
    batch.step()
    with monkeypatch.context() as patch:
        methods = {**batch.session.methods, "decode": None}  # a call of it raises
        patch.setattr(batch.session, "methods", methods)
        batch.step()
    assert [text.end for text in lost] == ["failed"] * 3
    assert isinstance(lost[0].error, AttributeError)
    finish(batch)
    assert other.tokens == expected(model, torch.tensor([[5, 6, 7]]), 4)


@pytest.mark.parametrize(("prompt", "options", "says"), [
    ([], {}, "the prompt has 0 tokens, expected 1 to 59"),
    ([5] * 60, {}, "the prompt has 60 tokens"),
    ([5, WORDS], {}, f"the token {WORDS}, the vocabulary has {WORDS}"),
    ([-1], {}, "the token -1"),
    ([1.5], {}, "float64"),
    ([5], {"num_beams": 2}, "no option 'num_beams'"),
    ([5], {"stop_strings": "a"}, "no option 'stop_strings'"),
    ([5], {"warmth": 2}, "no option 'warmth'"),
    ([5], {"max_new_tokens": 0}, "max_new_tokens is 0"),
    ([5], {"logprobs": 21}, "logprobs is 21"),
    ([5], {"do_sample": True, "temperature": -1.0}, "temperature"),
    ([5], {"do_sample": True, "top_p": float("nan")}, "top_p"),
    ([5], {"sequence_bias": [(WORDS, 1.0)]}, "sequence_bias"),
])
def test_wrong_texts_are_refused(prompt, options, says, batch):
    with pytest.raises(etx.ArgumentError, match=says):
        batch.add(prompt, **options)
    assert not batch.has_work


def test_programs_of_another_form_are_refused(model, tmp_path):
    session = etx.load(planned(model, tmp_path, max_length=30, batch=2)).session()
    with pytest.raises(etx.ArgumentError, match='batching="continuous"'):
        etx.serving.TextBatch(session)


@pytest.mark.parametrize("options", [{"beams": 2}, {"verify": 2}])
def test_export_refuses_what_continuous_batches_do_not_have(options, model):
    with pytest.raises(etx.ArgumentError, match="without beams and verify"):
        etx.hf.export(model, max_length=30, batching="continuous", **options)
    with pytest.raises(etx.ArgumentError, match="expected together or continuous"):
        etx.hf.export(model, max_length=30, batching="static")


def test_a_worker_serves_many_threads(model, program):
    prompts = [ids(1, length) for length in LENGTHS] * 3
    found: dict[int, list[int]] = {}
    # The first text holds the worker until every client has added its own: else a client
    # may be served before the next one comes, and no rows are shared.
    all_added = threading.Barrier(len(prompts) + 1)

    def client(number):
        text = worker.add(prompts[number][0].numpy(), max_new_tokens=12)
        all_added.wait(60)
        assert text.wait(60)
        found[number] = text.tokens

    def hold(text, token):
        all_added.wait(60)

    with etx.serving.TextWorker(program.session()) as worker:
        first = worker.add([5], max_new_tokens=1, on_token=hold)
        threads = [threading.Thread(target=client, args=(n,)) for n in range(len(prompts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert first.end == "length"
        # Rows were shared: a decode for each text alone would be more.
        assert worker.counts.decode_calls < worker.counts.decode_rows
    for number, prompt in enumerate(prompts):
        assert found[number] == expected(model, prompt, 12)


def test_a_step_ends_after_the_callbacks_of_its_texts(program):
    seen = []
    with etx.serving.TextWorker(program.session(), on_step=lambda: seen.append("step")) as worker:
        texts = [
            worker.add([5, 6], max_new_tokens=4, on_token=lambda text, token: seen.append("token"),
                       on_end=lambda text: seen.append("end"))
            for _ in range(2)
        ]
        assert all(text.wait(60) for text in texts)
    assert (seen.count("token"), seen.count("end"), seen[-1]) == (8, 2, "step")
    # A step has one token of each text, or two where its prompt ends in it.
    assert 4 <= seen.count("step") <= 10


def test_a_full_queue_refuses_and_loses_nothing(program):
    goes_on = threading.Event()
    with etx.serving.TextWorker(program.session(), queue=1) as worker:
        texts = [worker.add([5], on_token=lambda text, token: goes_on.wait(60) and None)]
        with pytest.raises(etx.serving.QueueFullError, match="and 1 may wait"):
            for _ in range(6):
                texts.append(worker.add([5], max_new_tokens=3))
        goes_on.set()
        assert all(text.wait(60) for text in texts)
    assert {text.end for text in texts} == {"length"}


def test_a_worker_that_closes_finishes_its_texts_or_cancels_them(program):
    worker = etx.serving.TextWorker(program.session())
    texts = [worker.add([5, 6], max_new_tokens=30) for _ in range(7)]
    worker.close()
    assert {text.end for text in texts} == {"length"}
    with pytest.raises(etx.StateError, match="closed"):
        worker.add([5])
    worker = etx.serving.TextWorker(program.session())

    def wait_for_the_end(text, token):  # no text ends before its time is over
        while worker._ends_at is None or time.monotonic() < worker._ends_at:
            time.sleep(0.01)

    texts = [worker.add([5, 6], max_new_tokens=50, on_token=wait_for_the_end) for _ in range(7)]
    worker.close(timeout=0.2)
    assert all(len(text.tokens) < 50 for text in texts)
    assert {text.end for text in texts} == {"cancelled"} and all(text.wait(0) for text in texts)
    assert not worker.is_alive


def test_draws_of_a_seed_continue():
    logits = np.linspace(0, 2, 20, dtype=np.float32)
    drawn = etx.sample_tokens(logits, count=9, seed=5)
    assert etx.sample_tokens(logits, count=6, first=3, seed=5).tolist() == drawn[3:].tolist()
    with pytest.raises(etx.ArgumentError, match="first is -1"):
        etx.sample_tokens(logits, first=-1)
