#include "tokenizer/token_step.h"

#include "tokenizer/unicode/unicode.h"

static const struct {
  etx_step_list list;
  const char* name;
} known_steps[] = {
#define STEP(list, symbol, name) {list, name},
#include "tokenizer/token_steps.def"
#undef STEP
};

static const char* const list_names[] = {"normalizer", "pre_tokenizer",
                                         "decoder"};
static const char* const list_members[] = {"normalizers", "pretokenizers",
                                           "decoders"};

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "too little memory for the tokenizer");
}

etx_status etx_token_text_load(etx_cursor_value value, etx_arena* arena,
                               etx_text* out, etx_diag* diag) {
  const size_t size = etx_cursor_string_size(value);
  uint8_t* const copy = etx_arena_take(arena, size, 1);
  *out = (etx_text){NULL, size};
  if (arena->counting) return ETX_OK;
  if (copy == NULL) return no_memory(diag);
  etx_cursor_string_copy(value, copy);
  out->data = (const char*)copy;
  return ETX_OK;
}

// {"String": text} or {"Regex": text}; plain text is a String.
static etx_status load_pattern(etx_cursor_value value, etx_arena* arena,
                               etx_token_step* step, etx_diag* diag) {
  etx_cursor_value text = etx_cursor_get(value, "Regex");
  step->has_pattern = text.at != NULL;
  if (text.at == NULL) text = etx_cursor_get(value, "String");
  if (text.at == NULL) text = value;
  if (etx_cursor_kind(text) != '"') {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'pattern' is neither a String nor a Regex");
  }
  const etx_status status =
      etx_token_text_load(text, arena, &step->literal, diag);
  if (status != ETX_OK || !step->has_pattern) return status;
  if (arena->counting) {
    etx_arena_take(arena, etx_pattern_bound(step->literal.size), 16);
    return ETX_OK;
  }
  return etx_pattern_compile(step->literal, arena, &step->pattern, diag);
}

// The pattern of GPT-2, which ByteLevel divides words with.
static etx_status load_byte_pattern(etx_arena* arena, etx_token_step* step,
                                    etx_diag* diag) {
  const etx_text text = etx_text_of(
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
      "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
      "|\\s+");
  step->has_pattern = true;
  step->behavior = ETX_SPLIT_ISOLATED;
  if (arena->counting) {
    etx_arena_take(arena, etx_pattern_bound(text.size), 16);
    return ETX_OK;
  }
  return etx_pattern_compile(text, arena, &step->pattern, diag);
}

static etx_status load_behavior(etx_cursor_value value, etx_split_behavior* out,
                                etx_diag* diag) {
  static const char* const names[] = {"Removed", "Isolated",
                                      "MergedWithPrevious", "MergedWithNext",
                                      "Contiguous"};
  for (int i = 0; i < 5; ++i) {
    if (etx_cursor_string_is(value, names[i])) {
      *out = (etx_split_behavior)i;
      return ETX_OK;
    }
  }
  return etx_diag_fail(
      diag, ETX_BAD_FILE,
      "'behavior' of a pre-tokenizer is none of Removed, Isolated, "
      "MergedWithPrevious, MergedWithNext, Contiguous");
}

static int base64_digit(uint8_t c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Decodes base64 in place. Returns its bytes.
static size_t decode_base64(uint8_t* bytes, size_t size) {
  uint32_t bits = 0, count = 0;
  size_t written = 0;
  for (size_t i = 0; i < size; ++i) {
    const int digit = base64_digit(bytes[i]);
    if (digit < 0) continue;
    bits = bits << 6 | (uint32_t)digit;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[written++] = (uint8_t)(bits >> count);
    }
  }
  return written;
}

static etx_status load_charsmap(etx_cursor_value step_value, etx_arena* arena,
                                etx_charsmap* out, etx_diag* diag) {
  const etx_cursor_value value =
      etx_cursor_get(step_value, "precompiled_charsmap");
  const size_t size = etx_cursor_string_size(value);
  uint8_t* const bytes = etx_arena_take(arena, size, 4);
  if (arena->counting) return ETX_OK;
  if (bytes == NULL) return no_memory(diag);
  etx_cursor_string_copy(value, bytes);
  const etx_bytes map = {bytes, decode_base64(bytes, size)};
  return etx_charsmap_read(map, out, diag);
}

static bool option(etx_cursor_value value, const char* key, bool otherwise) {
  return etx_cursor_bool(etx_cursor_get(value, key), otherwise);
}

static etx_status load_normalizer(etx_cursor_value value, etx_arena* arena,
                                  etx_token_step* step, etx_diag* diag) {
  etx_status status = ETX_OK;
  switch (step->kind) {
    case ETX_STEP_STRIP:
      step->options[0] = option(value, "strip_left", true);
      step->options[1] = option(value, "strip_right", true);
      return ETX_OK;
    case ETX_STEP_BERT:
      step->options[0] = option(value, "clean_text", true);
      step->options[1] = option(value, "handle_chinese_chars", true);
      step->options[3] = option(value, "lowercase", true);
      step->options[2] = option(value, "strip_accents", step->options[3]);
      return ETX_OK;
    case ETX_STEP_REPLACE:
      status =
          load_pattern(etx_cursor_get(value, "pattern"), arena, step, diag);
      if (status != ETX_OK) return status;
      return etx_token_text_load(etx_cursor_get(value, "content"), arena,
                                 &step->content, diag);
    case ETX_STEP_PREPEND:
      return etx_token_text_load(etx_cursor_get(value, "prepend"), arena,
                                 &step->content, diag);
    case ETX_STEP_PRECOMPILED:
      return load_charsmap(value, arena, &step->charsmap, diag);
    default:
      return ETX_OK;
  }
}

static etx_status load_metaspace(etx_cursor_value value, etx_arena* arena,
                                 etx_token_step* step, etx_diag* diag) {
  const etx_cursor_value scheme = etx_cursor_get(value, "prepend_scheme");
  bool prefix = option(value, "add_prefix_space", true);
  if (scheme.at != NULL) prefix = !etx_cursor_string_is(scheme, "never");
  step->first_only = etx_cursor_string_is(scheme, "first");
  step->options[0] = option(value, "split", true);
  step->options[1] = prefix;
  return etx_token_text_load(etx_cursor_get(value, "replacement"), arena,
                             &step->content, diag);
}

static etx_status load_pre_tokenizer(etx_cursor_value value, etx_arena* arena,
                                     etx_token_step* step, etx_diag* diag) {
  etx_status status = ETX_OK;
  switch (step->kind) {
    case ETX_STEP_BYTE_LEVEL:
      step->options[0] = option(value, "add_prefix_space", true);
      step->options[1] = option(value, "use_regex", true);
      return step->options[1] ? load_byte_pattern(arena, step, diag) : ETX_OK;
    case ETX_STEP_SPLIT:
      step->invert = option(value, "invert", false);
      status = load_behavior(etx_cursor_get(value, "behavior"), &step->behavior,
                             diag);
      if (status != ETX_OK) return status;
      return load_pattern(etx_cursor_get(value, "pattern"), arena, step, diag);
    case ETX_STEP_PUNCTUATION:
      step->behavior = ETX_SPLIT_ISOLATED;
      if (etx_cursor_get(value, "behavior").at == NULL) return ETX_OK;
      return load_behavior(etx_cursor_get(value, "behavior"), &step->behavior,
                           diag);
    case ETX_STEP_DIGITS:
      step->options[0] = option(value, "individual_digits", false);
      step->behavior =
          step->options[0] ? ETX_SPLIT_ISOLATED : ETX_SPLIT_CONTIGUOUS;
      return ETX_OK;
    case ETX_STEP_DELIMITER:
      step->behavior = ETX_SPLIT_REMOVED;
      return etx_token_text_load(etx_cursor_get(value, "delimiter"), arena,
                                 &step->literal, diag);
    case ETX_STEP_METASPACE:
      return load_metaspace(value, arena, step, diag);
    default:
      return ETX_OK;
  }
}

static etx_status load_decoder(etx_cursor_value value, etx_arena* arena,
                               etx_token_step* step, etx_diag* diag) {
  etx_status status = ETX_OK;
  switch (step->kind) {
    case ETX_STEP_WORD_PIECE_DECODER:
      step->options[0] = option(value, "cleanup", true);
      return etx_token_text_load(etx_cursor_get(value, "prefix"), arena,
                                 &step->content, diag);
    case ETX_STEP_METASPACE_DECODER:
      return load_metaspace(value, arena, step, diag);
    case ETX_STEP_BPE_DECODER:
      return etx_token_text_load(etx_cursor_get(value, "suffix"), arena,
                                 &step->content, diag);
    case ETX_STEP_STRIP_DECODER:
      if (!etx_cursor_unsigned_at(etx_cursor_get(value, "start"), 1 << 20,
                                  &step->start) ||
          !etx_cursor_unsigned_at(etx_cursor_get(value, "stop"), 1 << 20,
                                  &step->stop)) {
        return etx_diag_fail(
            diag, ETX_BAD_FILE,
            "decoder 'Strip' needs the counts 'start' and 'stop'");
      }
      return etx_token_text_load(etx_cursor_get(value, "content"), arena,
                                 &step->content, diag);
    case ETX_STEP_REPLACE_DECODER:
      status =
          load_pattern(etx_cursor_get(value, "pattern"), arena, step, diag);
      if (status != ETX_OK) return status;
      return etx_token_text_load(etx_cursor_get(value, "content"), arena,
                                 &step->content, diag);
    case ETX_STEP_CTC:
      step->options[0] = option(value, "cleanup", true);
      status = etx_token_text_load(etx_cursor_get(value, "pad_token"), arena,
                                   &step->content, diag);
      if (status != ETX_OK) return status;
      return etx_token_text_load(etx_cursor_get(value, "word_delimiter_token"),
                                 arena, &step->literal, diag);
    default:
      return ETX_OK;
  }
}

static etx_status load_step(etx_cursor_value value, etx_step_list list,
                            etx_arena* arena, etx_token_step* step,
                            etx_diag* diag) {
  const etx_cursor_value type = etx_cursor_get(value, "type");
  memset(step, 0, sizeof *step);
  for (int kind = 0; kind < ETX_STEP_COUNT; ++kind) {
    if (known_steps[kind].list != list ||
        !etx_cursor_string_is(type, known_steps[kind].name)) {
      continue;
    }
    step->kind = (etx_token_step_kind)kind;
    if (list == ETX_NORMALIZER)
      return load_normalizer(value, arena, step, diag);
    if (list == ETX_PRE_TOKENIZER)
      return load_pre_tokenizer(value, arena, step, diag);
    return load_decoder(value, arena, step, diag);
  }
  char name[48] = "";
  if (etx_cursor_kind(type) == '"' &&
      etx_cursor_string_size(type) < sizeof name) {
    name[etx_cursor_string_copy(type, (uint8_t*)name)] = '\0';
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "%s has type '%s', which is not supported",
                       list_names[list], name);
}

etx_status etx_token_steps_load(etx_cursor_value value, etx_step_list list,
                                etx_arena* arena, etx_token_steps* out,
                                etx_diag* diag) {
  etx_cursor_walk open[8];  // sequences within each other
  size_t depth = 0;
  bool single = value.at != NULL;
  out->count = 0;
  out->steps =
      etx_arena_take(arena, ETX_TOKEN_STEPS_MAX * sizeof *out->steps, 16);
  if (!arena->counting && out->steps == NULL) return no_memory(diag);
  while (single || depth > 0) {
    if (!single && !etx_cursor_next(&open[depth - 1], NULL, &value)) {
      --depth;
      continue;
    }
    single = false;
    if (etx_cursor_string_is(etx_cursor_get(value, "type"), "Sequence")) {
      if (depth == 8) {
        return etx_diag_fail(diag, ETX_UNSUPPORTED,
                             "%s has more than 8 sequences within each other",
                             list_names[list]);
      }
      open[depth++] =
          etx_cursor_items(etx_cursor_get(value, list_members[list]));
      continue;
    }
    if (out->count == ETX_TOKEN_STEPS_MAX) {
      return etx_diag_fail(diag, ETX_UNSUPPORTED, "%s has more than 32 steps",
                           list_names[list]);
    }
    etx_token_step unused;
    etx_token_step* const step =
        arena->counting ? &unused : &out->steps[out->count];
    const etx_status status = load_step(value, list, arena, step, diag);
    if (status != ETX_OK) return status;
    ++out->count;
  }
  return ETX_OK;
}
