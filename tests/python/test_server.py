"""samples/server with the client of OpenAI, against transformers.

The server runs as a process of its own. Models are small and have random weights, and
their tokenizer is trained here, on bytes, so that texts have incomplete characters too.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
openai = pytest.importorskip("openai", reason="pip install openai")
httpx = pytest.importorskip("httpx", reason="pip install httpx")
for name in ("starlette", "uvicorn", "multipart", "jinja2"):
    pytest.importorskip(name, reason="pip install -r samples/server/requirements.txt")
import etx.hf

pytestmark = pytest.mark.filterwarnings("ignore")
torch.set_num_threads(1)
SERVER = ROOT / "samples" / "server"
VOCABULARY, CONTEXT, ROWS = 400, 256, 4
HANGS = 300  # seconds: whatever a busy machine takes, it is less
TEMPLATE = """\
{%- for message in messages %}
{%- if message.role not in ['system', 'user', 'assistant'] %}
{{- raise_exception('no such role: ' + message.role) }}
{%- endif %}
{{- '<|' + message.role + '|>' + message.content | trim + eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""


def trained_tokenizer():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    names = ["<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|en|>", "<|de|>"]
    tokenizer.train_from_iterator(
        ["The trains leave at half past seven.", "Die Züge fahren um halb acht ab."] * 4,
        tokenizers.trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=names, show_progress=False,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    fast = hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def varied(model, scale=1.3):
    torch.manual_seed(11)
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, scale / part[0].numel() ** 0.5)
    return model.eval()


class Models:
    """Three models of transformers, and their programs."""

    def __init__(self, folder):
        self.tokenizer = trained_tokenizer()
        special = {"vocab_size": len(self.tokenizer), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
        self.text = varied(hf.LlamaForCausalLM(hf.LlamaConfig(
            **sizes, **special, num_key_value_heads=2, max_position_embeddings=CONTEXT
        )))
        self.embedder = varied(hf.BertModel(hf.BertConfig(
            **sizes, vocab_size=special["vocab_size"], max_position_embeddings=64
        )))
        self.speech = varied(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
            **special, d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, num_mel_bins=80,
            max_source_positions=50, max_target_positions=64, decoder_start_token_id=3,
            suppress_tokens=[], begin_suppress_tokens=[],
        )))
        self.programs = []
        for name, model, options in (
            ("chat", self.text, {"batch": ROWS, "batching": "continuous", "max_prompt": 32}),
            ("embed", self.embedder, {"batch": 4, "max_length": 48}),
            ("listen", self.speech, {"samples": True, "max_length": 24}),
        ):
            path = folder / f"{name}.pte"
            etx.hf.export(model, tokenizer=self.tokenizer, **options).plan(path)
            self.programs.append(f"{name}={path}")

    def new_ids(self, ids, count):
        """Greedy tokens of transformers after a prompt."""
        found = self.text.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.int64),
            max_new_tokens=count, do_sample=False,
        )
        return found[0, len(ids):].tolist()

    def chat_ids(self, messages):
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self.tokenizer.encode(text, add_special_tokens=False)

    def text_of(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True)


class Server:
    """The sample as a process, on a free port."""

    def __init__(self, programs, *options, env=()):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SERVER / "serve.py", *programs, "--port", "0",
             "--threads", "1", *options],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **dict(env)},
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"running on (http://[\d.]+:(\d+))", line):
                self.url, self.port = found[1], int(found[2])
                break
        else:
            raise AssertionError("".join(self.said))
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()
        self.web = httpx.Client()

    def client(self, **options):
        return openai.OpenAI(base_url=f"{self.url}/v1", **{"api_key": "none", "max_retries": 0, "timeout": HANGS, **options})

    def metric(self, name):
        text = self.web.get(f"{self.url}/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return 0.0 if found is None else float(found[1])

    def wait_for(self, name, value):
        ends = time.monotonic() + HANGS
        while self.metric(name) != value:
            assert time.monotonic() < ends, self.web.get(f"{self.url}/metrics").text
            time.sleep(0.01)

    def wait_for_texts(self, count):
        """Waits until so many texts have come, whether they wait, run or have ended."""
        ends = time.monotonic() + HANGS
        while True:
            text = self.web.get(f"{self.url}/metrics").text
            if sum(map(int, re.findall(r"^etx_texts_\w+\{.*\} (\d+)$", text, re.M))) >= count:
                return
            assert time.monotonic() < ends, text
            time.sleep(0.01)

    def end(self, how=signal.SIGTERM):
        self.web.close()
        self.process.send_signal(how)
        code = self.process.wait(HANGS)
        self.reader.join()
        return code


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return Models(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def server(models):
    server = Server(models.programs)
    yield server
    code = server.end()
    assert code in (0, -signal.SIGTERM) and "Traceback" not in "".join(server.said), server.said


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


def user(text):
    return [{"role": "user", "content": text}]


def tokenizers_by_decoder():
    """Tokenizers whose decoders differ, trained on a few words."""
    decoders, texts = tokenizers.decoders, ["The trains leave at half past seven. Die Züge 列車"] * 3
    trainers = tokenizers.trainers
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    pieces.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    pieces.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    pieces.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=420, show_progress=False, special_tokens=names[:1]))
    pieces.add_tokens(names[1:])
    words = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    words.pre_tokenizer, words.decoder = tokenizers.pre_tokenizers.Whitespace(), decoders.WordPiece()
    words.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=200, show_progress=False, special_tokens=["[UNK]"]))
    return {"bytes": trained_tokenizer().backend_tokenizer, "pieces": pieces, "words": words}


@pytest.mark.parametrize("kind", ["bytes", "pieces", "words"])
def test_pieces_joined_are_the_text_of_all_tokens(kind, monkeypatch):
    monkeypatch.syspath_prepend(SERVER)
    from program_tokenizer import ProgramTokenizer
    from text_pieces import TextPieces

    oracle = tokenizers_by_decoder()[kind]
    blob = np.frombuffer(oracle.to_str().encode(), np.uint8)
    tokenizer = ProgramTokenizer({"tokenizer_blob": blob})
    random, size = np.random.default_rng(4), oracle.get_vocab_size()
    alphabet = [*"abtrains  .,", "é", "ß", "列", "🚆", "\n"]
    texts = [oracle.encode("".join(random.choice(alphabet, count))).ids for count in range(1, 60) for _ in range(8)]
    texts += [random.integers(0, size, count).tolist() for count in range(1, 60) for _ in range(8)]
    # Bytes that are no text, and runs of them.
    bytes_ = [i for token, i in oracle.get_vocab().items() if len(token) == 1 or token.startswith("<0x")]
    texts += [random.choice(bytes_, count).tolist() for count in (1, 2, 3, 5, 9, 40, 90, 300)]
    # Models with a padded vocabulary have ids beyond the tokenizer's.
    train = oracle.encode("a🚆b").ids
    texts += [[other for id_ in train for other in (id_, *[silent] * 20)] for silent in (size, size + 9)]
    for ids in texts:
        pieces = TextPieces(tokenizer)
        found = "".join(map(pieces.add, ids)) + pieces.rest()
        assert found == oracle.decode(ids), ids


@pytest.fixture
def parts(monkeypatch):
    """The sample's modules."""
    monkeypatch.syspath_prepend(SERVER)
    return types.SimpleNamespace(**{
        name: importlib.import_module(name) for name in ("served_text", "openai_answers", "api_error")
    })


def choice_of(parts, running, decoder, **wanted):
    model = types.SimpleNamespace(tokenizer=decoder, ends=frozenset())
    running.model = model
    request = types.SimpleNamespace(**{"stream": True, "stop": [], "logprobs": None, **wanted})
    return parts.served_text._Choice(running, 0, request)


@pytest.mark.parametrize("is_chat", [True, False])
def test_events_hold_the_text_of_a_piece_whatever_it_is(is_chat, parts):
    answer = parts.openai_answers.TextAnswer('a "model"', None, is_chat=is_chat, wants_logprobs=False)
    for number, text in enumerate(["", " a", '"\\"', "\n\r\t\0", "Züge 列車 🚆", "data: x\n\n", "</s>"]):
        piece = parts.served_text.Piece(number % 2, text)
        events = answer.events(piece).decode().removesuffix("\n\n").split("\n\n")
        assert len(events) == 1 and events[0].startswith("data: ") and "\n" not in events[0]
        found = json.loads(events[0][6:])
        assert found["model"] == 'a "model"'
        (choice,) = found["choices"]
        assert (choice["delta"]["content"] if is_chat else choice["text"]) == text
        assert choice["index"] == number % 2 and choice["finish_reason"] is None


def test_a_client_that_is_slow_gets_what_waits_at_once_and_in_order(parts):
    async def run():
        decoder = types.SimpleNamespace(
            decode=lambda ids: "".join(map(chr, ids)), is_silent=lambda _: False, is_byte=lambda _: False)
        running = parts.served_text.RunningTexts(None, 1)
        choice = choice_of(parts, running, decoder)
        waiting = asyncio.ensure_future(running.take())
        await asyncio.sleep(0)
        choice.deliver(ord("a"))
        first = [piece.text for piece in await waiting]
        for token in "bcd":
            choice.deliver(ord(token))
        return first, [piece.text for piece in await running.take()]

    assert asyncio.run(run()) == (["a"], ["b", "c", "d"])


def test_a_tokenizer_that_fails_ends_its_text_with_an_error(parts):
    def fail(ids):
        raise ValueError("no such id")

    async def run():
        decoder = types.SimpleNamespace(decode=fail, is_silent=lambda _: False, is_byte=lambda _: False)
        running = parts.served_text.RunningTexts(None, 1)
        parts.served_text._deliver([(choice_of(parts, running, decoder), 7)])
        return await running.take()

    (error,) = asyncio.run(run())
    assert isinstance(error, parts.api_error.ApiError) and error.status == 500
    assert "no such id" in error.body["error"]["message"]


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["chat", "embed", "listen"]
    assert client.models.retrieve("chat").id == "chat"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt")


@pytest.mark.parametrize("messages", [
    user("When does the train leave?"),
    [{"role": "system", "content": "  Züge – 列車 🚆\n"}, *user("a"), {"role": "assistant", "content": "b"},
     {"role": "user", "content": [{"type": "text", "text": "c "}, {"type": "text", "text": "d"}]}],
])
def test_a_chat_is_that_of_transformers_whole_and_in_pieces(messages, client, models):
    plain = [{**m, "content": m["content"] if isinstance(m["content"], str) else "c d"} for m in messages]
    ids = models.chat_ids(plain)
    new = models.new_ids(ids, 40)
    given = {"model": "chat", "messages": messages, "max_tokens": 40, "temperature": 0}
    whole = client.chat.completions.create(**given)
    assert whole.choices[0].message.content == models.text_of(new)
    assert whole.choices[0].finish_reason == ("stop" if new[-1] == 2 else "length")
    usage = whole.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (len(ids), len(new))
    chunks = [*client.chat.completions.create(**given, stream=True, stream_options={"include_usage": True})]
    assert chunks[-1].usage == usage and chunks[-1].choices == []
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks[:-1]]
    assert "".join(pieces) == whole.choices[0].message.content and len(pieces) > 5
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason


def test_thirty_two_clients_get_what_each_gets_alone(server, models):
    prompts = [f"Train {number} " + "leaves " * (number % 11) for number in range(32)]
    counts = [5 + 7 * number % 40 for number in range(32)]

    def ask(number):
        with server.client() as client:
            given = {"model": "chat", "prompt": prompts[number], "max_tokens": counts[number],
                     "temperature": 0}
            if number % 2:
                return client.completions.create(**given, n=8).choices[0].text
            return "".join(chunk.choices[0].text for chunk in client.completions.create(**given, stream=True))

    before = [server.metric(f'etx_decode_{what}_total{{model="chat"}}') for what in ("calls", "rows")]
    with ThreadPoolExecutor(32) as clients:
        found = [*clients.map(ask, range(32))]
    for number, text in enumerate(found):
        ids = models.tokenizer.encode(prompts[number])
        assert text == models.text_of(models.new_ids(ids, counts[number])), number
    after = [server.metric(f'etx_decode_{what}_total{{model="chat"}}') for what in ("calls", "rows")]
    assert after[1] - before[1] > 1.2 * (after[0] - before[0])  # they ran together


def test_several_prompts_and_tokens_are_completed_in_order(client, models):
    prompts = [models.tokenizer.encode("The trains"), models.tokenizer.encode("Die")]
    found = client.completions.create(model="chat", prompt=prompts, temperature=0, max_tokens=9, n=2)
    wanted = [models.text_of(models.new_ids(ids, 9)) for ids in prompts for _ in range(2)]
    assert [choice.text for choice in found.choices] == wanted
    assert [choice.index for choice in found.choices] == [0, 1, 2, 3]
    assert found.usage.prompt_tokens == sum(map(len, prompts))


def test_a_stop_string_ends_a_text_before_it(client, models):
    ids = models.tokenizer.encode("The trains leave")
    text = models.text_of(models.new_ids(ids, 60))
    stop = text[17:21]  # somewhere in the text, across tokens
    wanted = text[: text.index(stop)]
    given = {"model": "chat", "prompt": "The trains leave", "max_tokens": 60, "temperature": 0,
             "stop": ["never there", stop]}
    whole = client.completions.create(**given)
    assert whole.choices[0].text == wanted and whole.choices[0].finish_reason == "stop"
    assert whole.usage.completion_tokens < 60
    chunks = [*client.completions.create(**given, stream=True)]
    assert "".join(chunk.choices[0].text for chunk in chunks) == wanted
    # The beginning of a stop string at the end of a text is text.
    given |= {"stop": text[-2:] + "more"}
    chunks = [*client.completions.create(**given, stream=True)]
    assert "".join(chunk.choices[0].text for chunk in chunks) == text


def test_seeds_repeat_and_choices_differ(client):
    given = {"model": "chat", "messages": user("Where?"), "max_tokens": 20, "temperature": 1.3, "top_p": 0.95}
    first = client.chat.completions.create(**given, seed=-5, n=3)
    texts = [choice.message.content for choice in first.choices]
    assert len(set(texts)) == 3
    again = client.chat.completions.create(**given, seed=-5, n=3)
    assert [choice.message.content for choice in again.choices] == texts
    other = client.chat.completions.create(**given, seed=99)
    assert other.choices[0].message.content not in texts


def test_log_probabilities_and_biases(client, models):
    ids = models.chat_ids(user("Why?"))
    new = models.new_ids(ids, 5)
    with torch.no_grad():
        logits = models.text(torch.tensor([ids + new])).logits[0, len(ids) - 1 : -1]
    wanted = torch.log_softmax(logits, -1)
    given = {"model": "chat", "messages": user("Why?"), "max_tokens": 5, "temperature": 0}
    found = client.chat.completions.create(**given, logprobs=True, top_logprobs=3)
    content = found.choices[0].logprobs.content
    assert len(content) == 5
    for item, row, token in zip(content, wanted, new):
        assert item.logprob == pytest.approx(float(row[token]), abs=1e-3)
        assert [top.logprob for top in item.top_logprobs] == pytest.approx(row.topk(3).values.tolist(), abs=1e-3)
    streamed = [*client.chat.completions.create(**given, logprobs=True, stream=True)]
    parts = [part for chunk in streamed if chunk.choices[0].logprobs for part in chunk.choices[0].logprobs.content]
    assert [part.logprob for part in parts] == [item.logprob for item in content]
    old = client.completions.create(model="chat", prompt=ids, max_tokens=5, temperature=0, logprobs=2)
    assert old.choices[0].logprobs.token_logprobs == [item.logprob for item in content]
    wanted_token = models.tokenizer.encode("train", add_special_tokens=False)[0]
    forced = client.chat.completions.create(**given, logit_bias={wanted_token: 100})
    assert forced.choices[0].message.content == models.text_of([wanted_token] * 5)


BAD = [
    ("chat/completions", b"{", None, "not JSON"),
    ("chat/completions", b"[1]", None, "not a JSON object"),
    ("chat/completions", b"[" * 100000, None, "not JSON"),
    ("chat/completions", {"messages": user("a")}, "model", "is missing"),
    ("chat/completions", {"model": "chat"}, "messages", "is missing"),
    ("chat/completions", {"model": "chat", "messages": []}, "messages", "list of messages"),
    ("chat/completions", {"model": "chat", "messages": ["a"]}, "messages[0]", "role"),
    ("chat/completions", {"model": "chat", "messages": [{"role": "user"}]}, "messages[0].content", "string"),
    ("chat/completions", {"model": "chat", "messages": [{"role": "tool", "content": "a"}]}, "messages", "no such role: tool"),
    ("chat/completions", {"model": "chat", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content", "no text"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "temperature": 3}, "temperature", "from 0 to 2"),
    ("chat/completions", b'{"model": "chat", "messages": [{"role": "user", "content": "a"}], "top_p": NaN}', "top_p", "from 0 to 1"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "max_tokens": 0}, "max_tokens", "from 1"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "n": True}, "n", "whole number"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "stop": [""]}, "stop", "not empty"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "stream": 1}, "stream", "true or false"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "tools": [{}]}, "tools", "not supported"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "warmth": 1}, "warmth", "Unrecognized"),
    ("chat/completions", {"model": "chat", "messages": user("a"), "logit_bias": {"9999": 1}}, None, "sequence_bias"),
    ("chat/completions", {"model": "chat", "messages": user("word " * 300)}, "messages", "maximum context length is 256"),
    ("chat/completions", {"model": "embed", "messages": user("a")}, "model", "answers at /v1/embeddings"),
    ("completions", {"model": "chat", "prompt": [[]]}, "prompt", "token ids"),
    ("completions", {"model": "chat", "prompt": [9999]}, None, "the vocabulary has"),
    ("completions", {"model": "chat", "prompt": ["a"] * 100, "n": 2}, "n", "more than 128"),
    ("embeddings", {"model": "embed", "input": "a " * 200}, "input", "expected 1 to 48"),
    ("embeddings", {"model": "embed", "input": [9999]}, "input", "outside"),
    ("embeddings", {"model": "embed", "input": "a", "dimensions": 8}, "dimensions", "not supported"),
]


@pytest.mark.parametrize(("path", "body", "param", "says"), BAD)
def test_wrong_requests_get_error_objects(path, body, param, says, server):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = httpx.post(f"{server.url}/v1/{path}", content=data)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["type"] == "invalid_request_error"
    assert says in error["message"] and error["param"] == param


def test_other_errors_are_objects_too(server, client):
    with pytest.raises(openai.NotFoundError, match="there is chat, embed, listen"):
        client.chat.completions.create(model="gpt", messages=user("a"))
    for answer, status in (
        (httpx.post(f"{server.url}/v1/completions", content=b" " * (2**20 + 1)), 413),
        (httpx.post(f"{server.url}/v1/nothing"), 404),
        (httpx.get(f"{server.url}/v1/completions"), 405),
        (httpx.post(f"{server.url}/v1/audio/transcriptions", content=b"abc"), 400),
    ):
        assert answer.status_code == status and answer.json()["error"]["message"]


def killed_request(server, body):
    """Sends a request and returns its connection when the answer, or the wait, has begun."""
    data = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(head.encode() + data)
    return connection


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_row(stream, models):
    server = Server(models.programs[:1])
    never = {"model": "chat", "prompt": "a", "max_tokens": 250, "temperature": 0, "stream": stream,
             "logit_bias": {"2": -100}, "n": 100}
    running = 'etx_texts_running{model="chat"}'
    connection = killed_request(server, never)
    server.wait_for(running, ROWS)
    connection.close()
    server.wait_for(running, 0)
    assert server.metric('etx_texts_waiting{model="chat"}') == 0
    ended = server.metric('etx_texts_finished_total{model="chat",end="cancelled"}')
    assert ended + server.metric('etx_texts_finished_total{model="chat",end="length"}') == 100
    assert ended >= 50  # it did not run to the end
    with server.client() as client:
        found = client.completions.create(model="chat", prompt="The", max_tokens=9, temperature=0)
    assert found.choices[0].text == models.text_of(models.new_ids(models.tokenizer.encode("The"), 9))
    server.end()


def test_a_full_queue_is_refused_and_keys_are_checked(models):
    server = Server(models.programs[:1], "--queue", "2", env={"ETX_API_KEY": "secret"})
    with server.client() as client, pytest.raises(openai.AuthenticationError):
        client.models.list()
    with server.client(api_key="secret") as client:
        given = {"model": "chat", "prompt": "a", "max_tokens": 3, "temperature": 0}
        with pytest.raises(openai.InternalServerError, match="busy") as refused:
            client.completions.create(**{**given, "max_tokens": 200}, n=ROWS + 20)
        assert refused.value.status_code == 503 and refused.value.response.headers["retry-after"] == "1"
        assert len(client.completions.create(**given, n=ROWS).choices) == ROWS
    server.end()


def test_running_texts_are_finished_when_the_server_ends(models):
    server = Server(models.programs[:1])
    given = {"model": "chat", "prompt": "The", "max_tokens": 200, "temperature": 0, "logit_bias": {"2": -100}}

    def ask(number):
        with server.client() as client:
            if number % 2:
                return client.completions.create(**given, n=8).choices[0].text
            chunks = [*client.completions.create(**given, stream=True)]
            assert chunks[-1].choices[0].finish_reason == "length"
            return "".join(chunk.choices[0].text for chunk in chunks)

    with ThreadPoolExecutor(10) as clients:
        asked = [clients.submit(ask, number) for number in range(10)]
        # A request that comes after the signal is refused, so all have come: 5 streams, and
        # 5 requests of 8 texts.
        server.wait_for_texts(45)
        server.process.send_signal(signal.SIGTERM)
        found = {future.result() for future in asked}
    assert len(found) == 1
    assert server.end() in (0, -signal.SIGTERM)


def test_texts_that_take_too_long_get_an_answer(models):
    server = Server(models.programs[:1], "--grace", "0", "--timeout", "0.05")
    long = {"model": "chat", "prompt": "The", "max_tokens": 200, "temperature": 0, "n": 40, "logit_bias": {"2": -100}}
    with server.client() as client:
        with pytest.raises(openai.InternalServerError, match="took too long") as ended:
            client.completions.create(**long)
        assert ended.value.status_code == 504
        with pytest.raises(openai.APIError, match="took too long"):
            [*client.completions.create(**long, stream=True)]
    assert server.end() in (0, -signal.SIGTERM)


def test_embeddings_are_those_of_transformers(client, models):
    texts = ["The trains", "Die Züge fahren um halb acht ab.", "a"]
    with torch.no_grad():
        wanted = [models.embedder(**models.tokenizer(text, return_tensors="pt", return_token_type_ids=False))[0].mean(1)[0]
                  for text in texts]
    wanted = torch.stack([vector / vector.norm() for vector in wanted]).numpy()
    for form in ({}, {"encoding_format": "float"}):  # the client asks for base64 by itself
        found = client.embeddings.create(model="embed", input=texts, **form)
        np.testing.assert_allclose([item.embedding for item in found.data], wanted, atol=2e-5)
    assert found.usage.prompt_tokens == sum(len(models.tokenizer.encode(text)) for text in texts)


def wav(samples, rate, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels), out.setsampwidth(2), out.setframerate(rate)
        out.writeframes((np.repeat(samples, channels) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def test_a_transcription_is_that_of_transformers(client, models):
    samples = np.random.default_rng(1).normal(0, 0.1, 16000).clip(-1, 1)
    samples = (samples * 32767).astype("<i2") / 32768
    extractor = hf.WhisperFeatureExtractor(feature_size=80)
    features = extractor(samples.astype(np.float32), sampling_rate=16000, padding=False, return_tensors="pt")
    found = client.audio.transcriptions.create(
        model="listen", file=("a.wav", wav(samples * 32768 / 32767, 16000, 2)), language="de",
    )
    ids = models.speech.generate(
        features.input_features, decoder_input_ids=torch.tensor([[3, 7]]), max_length=24,
        do_sample=False,
    )[0].tolist()
    wanted = models.text_of(ids[ids.index(7) + 1 :] if 7 in ids else ids)
    assert found.text == wanted.strip()
    assert client.audio.transcriptions.create(
        model="listen", file=("a.wav", wav(samples, 8000)), response_format="text"
    )
    for file, options in ((b"RIFF", {}), (wav(samples, 16000), {"language": "xx"})):
        with pytest.raises(openai.BadRequestError):
            client.audio.transcriptions.create(model="listen", file=("a.wav", file), **options)


def test_it_says_how_it_is(server):
    assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
    text = httpx.get(f"{server.url}/metrics").text
    for line in filter(None, text.splitlines()):
        assert re.fullmatch(r'# (TYPE|HELP) etx_\w+ .+|etx_\w+(\{[^{}]*\})? [\d.e+-]+', line), line


@pytest.mark.parametrize(("programs", "says"), [
    (["missing.pte"], "missing.pte"), (["a=x.pte", "a=y.pte"], "there twice"),
])
def test_a_server_that_cannot_start_says_why(programs, says):
    with pytest.raises(AssertionError, match=says):
        Server(programs)
