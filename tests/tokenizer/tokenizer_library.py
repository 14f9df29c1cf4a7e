"""The tokenizer library through ctypes, for tests."""

import ctypes

TEXT_MAX = 1 << 20


class Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Memory(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Diag(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("offset", ctypes.c_uint64),
                ("line", ctypes.c_uint32), ("column", ctypes.c_uint32),
                ("text_size", ctypes.c_size_t), ("text", ctypes.c_char * 512)]


class Content(ctypes.Structure):
    _fields_ = [("content", ctypes.c_void_p)]


class EncodeRequest(ctypes.Structure):
    _fields_ = [("text", Span), ("pair", Span), ("has_pair", ctypes.c_bool),
                ("no_special_tokens", ctypes.c_bool)]


class EncodeOutput(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("spans", ctypes.c_void_p),
                ("types", ctypes.c_void_p), ("capacity", ctypes.c_size_t),
                ("count", ctypes.c_size_t)]


class DecodeRequest(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("count", ctypes.c_size_t),
                ("skip_special_tokens", ctypes.c_bool)]


class Stream(ctypes.Structure):
    _fields_ = [("tokenizer", ctypes.c_void_p), ("skip", ctypes.c_bool),
                ("ids", ctypes.c_uint32 * 64), ("count", ctypes.c_size_t),
                ("shown", ctypes.c_size_t), ("is_begun", ctypes.c_bool)]


class Failed(Exception):
    """A call failed, with its message."""


class Tokenizer:
    """A tokenizer of the library."""

    def __init__(self, path, file):
        self.library = ctypes.CDLL(path)
        self.library.etx_tokenizer_encode_needed.restype = ctypes.c_size_t
        self.library.etx_tokenizer_decode_needed.restype = ctypes.c_size_t
        self.diag = Diag()
        needed = ctypes.c_size_t()
        self.call("etx_tokenizer_needed", Span(file, len(file)), ctypes.byref(needed))
        self.block = ctypes.create_string_buffer(needed.value + 16)
        start = (ctypes.addressof(self.block) + 15) & ~15
        self.content = Content()
        self.call("etx_tokenizer_init", ctypes.byref(self.content), Span(file, len(file)),
                  Memory(start, needed.value))
        self.memory = ctypes.create_string_buffer(0)
        self.capacity = 0

    def call(self, name, *arguments):
        self.diag.status = 0
        status = getattr(self.library, name)(*arguments, ctypes.byref(self.diag))
        if status != 0:
            raise Failed(f"{status}: {self.diag.text.decode(errors='replace')}")

    def room(self, needed):
        if len(self.memory) < needed:
            self.memory = ctypes.create_string_buffer(needed)
        return Memory(ctypes.addressof(self.memory), len(self.memory))

    def encode(self, text, pair=None, special=True):
        n = self.encode_only(text, pair, special)
        spans = self.spans[:2 * n]
        return (self.ids[:n], list(zip(spans[::2], spans[1::2])), self.types[:n])

    def encode_only(self, text, pair=None, special=True):
        """Encodes to self.ids, self.spans and self.types; returns the number of ids."""
        request = EncodeRequest(Span(text, len(text)), Span(pair or b"", len(pair or b"")),
                                pair is not None, not special)
        size = max(len(text), len(pair or b""))
        count = 8 * (len(text) + len(pair or b"")) + 64
        if count > self.capacity:
            self.capacity = count
            self.ids = (ctypes.c_uint32 * count)()
            self.spans = (ctypes.c_uint32 * (2 * count))()
            self.types = (ctypes.c_uint8 * count)()
        output = EncodeOutput(ctypes.addressof(self.ids), ctypes.addressof(self.spans),
                              ctypes.addressof(self.types), self.capacity, 0)
        needed = self.library.etx_tokenizer_encode_needed(ctypes.byref(self.content),
                                                          ctypes.c_size_t(size))
        self.call("etx_tokenizer_encode", ctypes.byref(self.content), ctypes.byref(request),
                  self.room(needed), ctypes.byref(output))
        return output.count

    def decode(self, ids, skip=True):
        array = (ctypes.c_uint32 * max(1, len(ids)))(*ids)
        request = DecodeRequest(ctypes.addressof(array), len(ids), skip)
        needed = self.library.etx_tokenizer_decode_needed(ctypes.byref(self.content),
                                                          ctypes.c_size_t(len(ids)))
        text = Memory()
        self.call("etx_tokenizer_decode", ctypes.byref(self.content), ctypes.byref(request),
                  self.room(needed), ctypes.byref(text))
        return ctypes.string_at(text.data, text.size) if text.size else b""

    def stream(self, ids, skip=True):
        """The texts of a stream, the last one from its end."""
        stream, text, texts = Stream(), Memory(), []
        self.library.etx_token_stream_init(ctypes.byref(stream), ctypes.byref(self.content),
                                           ctypes.c_bool(skip))
        room = self.room(self.library.etx_tokenizer_decode_needed(
            ctypes.byref(self.content), ctypes.c_size_t(64)))
        for token in ids:
            self.call("etx_token_stream_push", ctypes.byref(stream), ctypes.c_uint32(token),
                      room, ctypes.byref(text))
            texts.append(ctypes.string_at(text.data, text.size) if text.size else b"")
        self.call("etx_token_stream_end", ctypes.byref(stream), room, ctypes.byref(text))
        texts.append(ctypes.string_at(text.data, text.size) if text.size else b"")
        return texts
