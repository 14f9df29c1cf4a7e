#include "tests/tokenizer/loaded_tokenizer.h"

static etx_diag diag;
static test_encoding encoding;

static const char* const names[] = {ETX_TOKENIZER_NAMES,
                                    ETX_SENTENCE_PIECE_NAMES};

static uint32_t read_number(const uint8_t** at) {
  const uint8_t* const b = *at;
  *at += 4;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
         (uint32_t)b[3] << 24;
}

// ---- recorded answers of the package `tokenizers` ----

static void check_text(const char* name, etx_text expected, etx_text found) {
  if (!etx_text_equal(expected, found)) {
    fail_msg("%s: decoded '%.*s', expected '%.*s'", name, (int)found.size,
             found.data, (int)expected.size, expected.data);
  }
}

// What a stream shows is in the end what all ids decode to.
static void check_stream(const char* name, const loaded_tokenizer* loaded,
                         size_t count, etx_text expected,
                         etx_bytes_mut memory) {
  etx_token_stream stream;
  char* const all = malloc(expected.size + 64);
  size_t size = 0;
  etx_token_stream_init(&stream, &loaded->tokenizer, true);
  for (size_t i = 0; i <= count; ++i) {
    etx_text text;
    if (i < count) {
      assert_ok(etx_token_stream_push(&stream, encoding.ids[i], memory, &text,
                                      &diag));
    } else {
      assert_ok(etx_token_stream_end(&stream, memory, &text, &diag));
    }
    assert_true(size + text.size <= expected.size + 64);
    if (text.size > 0) memcpy(all + size, text.data, text.size);
    size += text.size;
  }
  check_text(name, expected, (etx_text){all, size});
  free(all);
}

static void check_case(const char* name, const loaded_tokenizer* loaded,
                       const uint8_t** at) {
  const uint32_t text_size = read_number(at);
  const bool special = read_number(at) != 0;
  const uint32_t count = read_number(at);
  const uint32_t decoded_size = read_number(at);
  const etx_text text = {(const char*)*at, text_size};
  *at += text_size;
  assert_ok(encode_for_test(
      loaded, text, special,
      etx_tokenizer_encode_needed(&loaded->tokenizer, text_size), &encoding,
      &diag));
  assert_int_equal(encoding.count, count);
  for (uint32_t i = 0; i < count; ++i)
    assert_int_equal(encoding.ids[i], read_number(at));
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(encoding.spans[i].begin, read_number(at));
    assert_int_equal(encoding.spans[i].end, read_number(at));
  }
  const etx_text decoded = {(const char*)*at, decoded_size};
  *at += decoded_size;
  const size_t needed =
      etx_tokenizer_decode_needed(&loaded->tokenizer, count + 64);
  const etx_bytes_mut memory = {malloc(needed), needed};
  const etx_decode_request request = {encoding.ids, count, true};
  etx_text found;
  assert_ok(etx_tokenizer_decode(&loaded->tokenizer, &request, memory, &found,
                                 &diag));
  check_text(name, decoded, found);
  // Steps that look at all tokens at once cannot show text before the end.
  const bool whole = strcmp(name, "gpt2") == 0 || strcmp(name, "qwen2") == 0 ||
                     strcmp(name, "o200k") == 0 ||
                     strncmp(name, "pieces_", 7) == 0;
  if (whole) check_stream(name, loaded, count, decoded, memory);
  free(memory.data);
}

static void recorded_answers_are_given(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    loaded_tokenizer loaded;
    const etx_bytes_mut file = read_recorded(names[i], recorded_ending(i));
    const etx_bytes_mut cases = read_recorded(names[i], ".cases");
    assert_ok(
        load_tokenizer(&loaded, (etx_bytes){file.data, file.size}, &diag));
    free(file.data);  // init has copied what it needs
    const uint8_t* at = cases.data;
    while (at < cases.data + cases.size) check_case(names[i], &loaded, &at);
    free(cases.data);
    free(loaded.block);
  }
}

// ---- SentencePiece models ----

// A model of one piece for unknown text and one of one letter, with `more`
// behind them.
static etx_status open_pieces(loaded_tokenizer* loaded, const char* more,
                              size_t size) {
  static const char start[] =
      "\x0A\x07\x0A\x03"
      "unk\x18\x02\x0A\x08\x0A\x01"
      "a\x15\0\0\0\xBF";
  uint8_t file[256];
  memcpy(file, start, sizeof start - 1);
  memcpy(file + sizeof start - 1, more, size);
  etx_diag_init(&diag);
  const etx_status status =
      load_tokenizer(loaded, (etx_bytes){file, sizeof start - 1 + size}, &diag);
  if (status != ETX_OK) free(loaded->block);
  return status;
}

static void damaged_sentence_piece_models_are_refused(void** state) {
  static const struct {
    const char* more;
    size_t size;
    const char* message;
  } cases[] = {
      {"\x0A\x03\x0A\x01"
       "a",
       5, "is there twice"},
      {"\x0A\x03\x0A\x01\xFF", 5, "is not UTF-8"},
      {"\x0A\x02\x0A\0", 4, "is empty"},
      {"\x0A\x05\x0A\x01"
       "b\x18\x02",
       7, "a second piece"},
      {"\x0A\x05\x0A\x01"
       "b\x18\x09",
       7, "type that is not known"},
      {"\x0A\x05\x0A\x01"
       "b\x18\x06",
       7, "is no byte"},
      {"\x0A\x08\x0A\x01"
       "b\x15\0\0\x80\x7F",
       10, "not finite"},
      {"\x0A\x7F\x0A\x01"
       "b",
       5, "longer than what holds it"},
      {"\x0A\x81", 2, "is cut off"},
      {"\x12\x02\x18\x03", 4, "has type 3"},
      {"\x12\x03\x98\x02\x01", 5, "no piece <0x0>"},
      {"\x1A\x04\x12\x02"
       "ab",
       6, "'precompiled_charsmap'"},
      {"\x2A\x03\x12\x01"
       "a",
       5, "denormalizer"},
      {"\x13", 1, "wire type"},
  };
  loaded_tokenizer loaded;
  (void)state;
  assert_ok(open_pieces(&loaded, "", 0));
  assert_true(etx_tokenizer_is_sentence_piece(&loaded.tokenizer));
  // The letter has a space in front, which is unknown.
  assert_ok(encode_for_test(&loaded,
                            etx_text_of("a\xFF"
                                        "a"),
                            true, 65536, &encoding, &diag));
  assert_int_equal(encoding.count, 4);
  assert_int_equal(encoding.ids[2], 0);
  assert_int_equal(encoding.spans[2].end, 2);
  free(loaded.block);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const etx_status status =
        open_pieces(&loaded, cases[i].more, cases[i].size);
    assert_true(status == ETX_BAD_FILE || status == ETX_UNSUPPORTED);
#ifdef ETX_TOKENIZER_MESSAGES
    if (strstr(diag.text, cases[i].message) == NULL) {
      fail_msg("'%s' has no '%s'", diag.text, cases[i].message);
    }
#endif
  }
}

// ---- one small tokenizer ----

#define WORDS \
  "\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"\xC3\xA9\":1,\"?\":2}"

static void open_text(loaded_tokenizer* loaded, const char* json) {
  assert_ok(load_tokenizer(
      loaded, (etx_bytes){(const uint8_t*)json, strlen(json)}, &diag));
}

static void broken_utf8_is_read_as_replacement(void** state) {
  loaded_tokenizer loaded;
  (void)state;
  open_text(
      &loaded,
      "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\".\"},"
      "\"behavior\":\"Isolated\",\"invert\":false},\"model\":{\"type\":"
      "\"WordLevel\",\"vocab\":{\"a\":0,\"\xEF\xBF\xBD\":1}}}");
  // As b"a\xe2\x82a\xff\xc0\xafa".decode(errors="replace") in Python.
  const etx_text text = etx_text_of(
      "a\xE2\x82"
      "a\xFF\xC0\xAF"
      "a");
  assert_ok(encode_for_test(&loaded, text, true, 65536, &encoding, &diag));
  const uint32_t ids[] = {0, 1, 0, 1, 1, 1, 0};
  assert_int_equal(encoding.count, 7);
  assert_memory_equal(encoding.ids, ids, sizeof ids);
  assert_int_equal(encoding.spans[1].begin, 1);
  assert_int_equal(encoding.spans[1].end, 3);
  free(loaded.block);
}

static void unknown_text_without_a_token_is_refused(void** state) {
  loaded_tokenizer loaded;
  (void)state;
  open_text(&loaded, "{\"model\":{" WORDS "}}");
  assert_status(
      encode_for_test(&loaded, etx_text_of("b"), true, 65536, &encoding, &diag),
      ETX_BAD_ARGUMENT);
  assert_int_equal(etx_tokenizer_find(&loaded.tokenizer, etx_text_of("?")), 2);
  assert_int_equal(etx_tokenizer_find(&loaded.tokenizer, etx_text_of("b")), -1);
  assert_null(etx_tokenizer_token(&loaded.tokenizer, 99).data);
  free(loaded.block);
}

static void too_little_memory_is_refused_at_every_size(void** state) {
  loaded_tokenizer loaded;
  const etx_bytes_mut file = read_recorded("roberta", ".json");
  const etx_text text = etx_text_of("Hello WORLD, don't [MASK] \xE4\xB8\x96");
  (void)state;
  assert_ok(load_tokenizer(&loaded, (etx_bytes){file.data, file.size}, &diag));
  const size_t needed =
      etx_tokenizer_encode_needed(&loaded.tokenizer, text.size);
  bool fits = false;
  for (size_t bytes = 1; bytes <= needed; bytes += bytes < 4096 ? 97 : 13) {
    const etx_status status =
        encode_for_test(&loaded, text, true, bytes, &encoding, &diag);
    assert_true(status == ETX_OK || (!fits && status == ETX_OUT_OF_MEMORY));
    fits = status == ETX_OK;
  }
  assert_true(fits);
  free(loaded.block);
  free(file.data);
}

static void a_long_run_takes_little_time(void** state) {
  loaded_tokenizer loaded;
  const etx_bytes_mut file = read_recorded("gemma", ".json");
  enum { RUN = 1000000 };
  char* const run = malloc(RUN);
  uint32_t* const ids = malloc((RUN + 1) * sizeof *ids);
  (void)state;
  memset(run, 'a', RUN);
  assert_ok(load_tokenizer(&loaded, (etx_bytes){file.data, file.size}, &diag));
  const size_t needed = etx_tokenizer_encode_needed(&loaded.tokenizer, RUN);
  const etx_bytes_mut memory = {malloc(needed), needed};
  const etx_encode_request request = {.text = {run, RUN}};
  etx_encode_output output = {ids, NULL, NULL, RUN + 1, 0};
  assert_ok(etx_tokenizer_encode(&loaded.tokenizer, &request, memory, &output,
                                 &diag));
  assert_true(output.count > 0 && output.count <= RUN + 1);
  free(memory.data);
  free(ids);
  free(run);
  free(loaded.block);
  free(file.data);
}

static void more_ids_than_room_are_counted(void** state) {
  loaded_tokenizer loaded;
  uint32_t ids[2] = {77, 77};
  (void)state;
  open_text(
      &loaded,
      "{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{" WORDS
      "}}");
  _Alignas(16) static uint8_t block[65536];
  const etx_encode_request request = {.text = etx_text_of("a ? a")};
  etx_encode_output output = {ids, NULL, NULL, 1, 0};
  assert_status(etx_tokenizer_encode(&loaded.tokenizer, &request,
                                     (etx_bytes_mut){block, sizeof block},
                                     &output, &diag),
                ETX_OUT_OF_RANGE);
  assert_int_equal(output.count, 3);
  assert_int_equal(ids[0], 0);
  assert_int_equal(ids[1], 77);
  free(loaded.block);
}

// ---- refused files ----

#ifdef ETX_TOKENIZER_MESSAGES
static void refuse(const char* json, etx_status status, const char* part) {
  loaded_tokenizer loaded;
  assert_refused(
      load_tokenizer(&loaded, (etx_bytes){(const uint8_t*)json, strlen(json)},
                     &diag),
      status, part);
  free(loaded.block);
}

#define SPLIT(pattern)                                    \
  "{\"model\":{" WORDS                                    \
  "},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{" \
  "\"Regex\":\"" pattern "\"},\"behavior\":\"Isolated\"}}"

static void wrong_files_are_refused_with_the_reason(void** state) {
  (void)state;
  refuse("{\"model\":", ETX_BAD_FILE, "at byte 9: expected a value");
  refuse("{\"model\":{}} x", ETX_BAD_FILE, "the end of the file");
  refuse("{\"model\":{\"type\":\"Markov\",\"vocab\":{}}}", ETX_UNSUPPORTED,
         "none of BPE");
  refuse("{}", ETX_BAD_FILE, "has no 'vocab'");
  refuse("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":-1}}}",
         ETX_BAD_FILE, "no integer");
  refuse(
      "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
      ETX_BAD_FILE, "rule 0 of 'merges'");
  refuse("{\"model\":{" WORDS "},\"normalizer\":{\"type\":\"Nmt\"}}",
         ETX_UNSUPPORTED, "'Nmt'");
  refuse(SPLIT("a(?<=b)"), ETX_UNSUPPORTED, "at byte 3");
  refuse(SPLIT("(a*)*"), ETX_UNSUPPORTED, "can be empty");
  refuse(SPLIT("[a"), ETX_UNSUPPORTED, "']' is missing");
  refuse(SPLIT("[a[b]"), ETX_UNSUPPORTED, "']' is missing");
  refuse(SPLIT("[a[^b]]"), ETX_UNSUPPORTED, "negated or named class");
  refuse(SPLIT("[a&&b]"), ETX_UNSUPPORTED, "intersection");
  refuse(SPLIT("\\\\p{Greek}"), ETX_UNSUPPORTED, "general category");
}

static void a_pattern_that_backtracks_forever_is_stopped(void** state) {
  loaded_tokenizer loaded;
  char text[3000];
  (void)state;
  memset(text, 'a', sizeof text);
  open_text(&loaded, SPLIT("(?:a|aa)+b"));
  assert_refused(encode_for_test(&loaded, (etx_text){text, sizeof text}, true,
                                 4 << 20, &encoding, &diag),
                 ETX_OUT_OF_RANGE, "more steps");
  free(loaded.block);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_answers_are_given),
      cmocka_unit_test(damaged_sentence_piece_models_are_refused),
      cmocka_unit_test(broken_utf8_is_read_as_replacement),
      cmocka_unit_test(unknown_text_without_a_token_is_refused),
      cmocka_unit_test(too_little_memory_is_refused_at_every_size),
      cmocka_unit_test(a_long_run_takes_little_time),
      cmocka_unit_test(more_ids_than_room_are_counted),
#ifdef ETX_TOKENIZER_MESSAGES
      cmocka_unit_test(wrong_files_are_refused_with_the_reason),
      cmocka_unit_test(a_pattern_that_backtracks_forever_is_stopped),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
