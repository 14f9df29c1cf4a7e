#include "exporter/import/quantize_rules.h"

#include "exporter/host/name_pattern.h"
#include "exporter/host/nearest_name.h"

// The part of a rule before the colon.
typedef struct quantize_kind {
  const char* word;
  uint8_t bits;
  uint8_t group;
  bool keeps_rows;
  bool has_offsets;
  etx_dtype half;
} quantize_kind;

static const quantize_kind kinds[] = {
    {.word = "none"},
    {.word = "f16", .bits = 16, .half = ETX_DTYPE_FLOAT16},
    {.word = "float16", .bits = 16, .half = ETX_DTYPE_FLOAT16},
    {.word = "bf16", .bits = 16, .half = ETX_DTYPE_BFLOAT16},
    {.word = "bfloat16", .bits = 16, .half = ETX_DTYPE_BFLOAT16},
    {.word = "int8", .bits = 8},
    {.word = "int8w", .bits = 8, .keeps_rows = true},
    {.word = "int8w/32", .bits = 8, .group = 32, .keeps_rows = true},
    {.word = "int4", .bits = 4, .group = 32},
    {.word = "int4w", .bits = 4, .group = 32, .keeps_rows = true},
    {.word = "int4/32", .bits = 4, .group = 32},
    {.word = "int4w/32", .bits = 4, .group = 32, .keeps_rows = true},
    {.word = "int4/64", .bits = 4, .group = 64},
    {.word = "int4w/64", .bits = 4, .group = 64, .keeps_rows = true},
    {.word = "int4/128", .bits = 4, .group = 128},
    {.word = "int4w/128", .bits = 4, .group = 128, .keeps_rows = true},
    {.word = "int4k", .bits = 4, .group = 32, .has_offsets = true},
};

static etx_status find_kind(etx_text word, const quantize_kind** out,
                            etx_diag* diag) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    *out = &kinds[i];
    if (etx_text_is(word, kinds[i].word)) return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "weights cannot be quantised to '%t': expected none, "
                       "int8, int4, int4/32, int4/64, int4/128 or int4k, "
                       "int8w, int8w/32, int4w, int4w/.. for weight-only "
                       "quantisation, or f16 or bf16",
                       word);
}

// Splits off the text up to `mark` and returns it; `*rest` is the text after
// the mark.
static etx_text take_until(etx_text* rest, char mark) {
  const etx_text all = *rest;
  size_t end = 0;
  while (end < all.size && all.data[end] != mark) ++end;
  const size_t next = end < all.size ? end + 1 : end;
  *rest = (etx_text){all.data + next, all.size - next};
  return (etx_text){all.data, end};
}

static size_t count_marks(etx_text text, char mark) {
  size_t count = 0;
  for (size_t i = 0; i < text.size; ++i) count += text.data[i] == mark;
  return count;
}

static etx_status read_patterns(etx_pool* pool, etx_text rest,
                                etx_quantize_rule* rule, etx_diag* diag) {
  const size_t count = count_marks(rest, ',') + 1;
  rule->patterns = etx_pool_take(pool, count * sizeof *rule->patterns);
  if (rule->patterns == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    rule->patterns[i] = take_until(&rest, ',');
    if (rule->patterns[i].size != 0) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "rule '%t' has an empty pattern: leave out the colon "
                         "to match all weights",
                         rule->text);
  }
  rule->pattern_count = count;
  return ETX_OK;
}

static bool matches(const etx_quantize_rule* rule, etx_text name) {
  for (size_t i = 0; i < rule->pattern_count; ++i) {
    if (etx_name_matches_module(rule->patterns[i], name)) return true;
  }
  return rule->pattern_count == 0;
}

etx_quantize_rule* etx_quantize_rule_of(const etx_ir_module* module,
                                        const etx_text* names, size_t count) {
  for (size_t r = module->quantize_count; r-- > 0;) {
    etx_quantize_rule* const rule = &module->quantize[r];
    if (rule->pattern_count == 0) return rule;
    for (size_t i = 0; i < count; ++i) {
      if (matches(rule, names[i])) return rule;
    }
  }
  return NULL;
}

bool etx_quantize_rule_names(const etx_quantize_rule* rule, etx_text name) {
  for (size_t i = 0; i < rule->pattern_count; ++i) {
    if (etx_text_equal(rule->patterns[i], name)) return true;
  }
  return false;
}

// ------------------------------------------------ patterns that match nothing

static bool matches_some(const etx_ir_module* module, etx_text pattern) {
  for (size_t i = 0; i < module->buffer_count; ++i) {
    if (etx_name_matches_module(pattern, module->buffers[i].name)) return true;
  }
  return false;
}

// Offers the name and every run of its dotted parts, since a pattern between
// stars may match any of them.
static void offer_parts(etx_nearest_name* nearest, etx_text name) {
  for (size_t start = 0; start < name.size; ++start) {
    if (start != 0 && name.data[start - 1] != '.') continue;
    for (size_t end = start + 1; end <= name.size; ++end) {
      if (end < name.size && name.data[end] != '.') continue;
      const etx_text part = {name.data + start, end - start};
      etx_nearest_offer(nearest, part);
    }
  }
}

// A pattern without leading and trailing stars and dots.
static etx_text core_of(etx_text pattern) {
  while (pattern.size != 0 &&
         (pattern.data[0] == '*' || pattern.data[0] == '.')) {
    ++pattern.data;
    --pattern.size;
  }
  while (pattern.size != 0 && (pattern.data[pattern.size - 1] == '*' ||
                               pattern.data[pattern.size - 1] == '.')) {
    --pattern.size;
  }
  return pattern;
}

static etx_status check_pattern(const etx_ir_module* module,
                                const etx_quantize_rule* rule, etx_text pattern,
                                etx_diag* diag) {
  char hint[96];
  if (matches_some(module, pattern)) return ETX_OK;
  etx_nearest_name nearest = etx_nearest_start(core_of(pattern));
  for (size_t i = 0; i < module->buffer_count; ++i) {
    offer_parts(&nearest, module->buffers[i].name);
  }
  return etx_diag_fail(
      diag, ETX_NOT_FOUND, "no weight matches pattern '%t' of rule '%t'%s",
      pattern, rule->text, etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_quantize_rule_add(etx_ir_module* module, etx_text text,
                                 etx_diag* diag) {
  etx_quantize_rule rule = {.text = etx_pool_copy_text(module->pool, text)};
  if (rule.text.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_text rest = rule.text;
  const etx_text word = take_until(&rest, ':');
  const quantize_kind* found = NULL;
  ETX_TRY(find_kind(word, &found, diag));
  rule.bits = found->bits;
  rule.half = found->half;
  rule.group = found->group;
  rule.keeps_rows = found->keeps_rows;
  rule.has_offsets = found->has_offsets;
  if (word.size != rule.text.size) {
    ETX_TRY(read_patterns(module->pool, rest, &rule, diag));
  }
  for (size_t i = 0; i < rule.pattern_count; ++i) {
    ETX_TRY(check_pattern(module, &rule, rule.patterns[i], diag));
  }
  ETX_TRY(etx_pool_grow(module->pool, &module->quantize, module->quantize_count,
                        &module->quantize_capacity, sizeof *module->quantize));
  module->quantize[module->quantize_count++] = rule;
  return ETX_OK;
}
