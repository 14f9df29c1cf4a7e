#include "tokenizer/tokenizer_content.h"

static etx_status add_item(etx_template* t, int32_t id, uint32_t type,
                           etx_diag* diag) {
  if (t->count == ETX_TEMPLATE_MAX) {
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED,
        "a template of 'post_processor' has more than %u items",
        (uint64_t)ETX_TEMPLATE_MAX);
  }
  t->items[t->count++] = (etx_template_item){id, (uint8_t)type};
  return ETX_OK;
}

static etx_status bad_item(etx_diag* diag) {
  return etx_diag_fail(
      diag, ETX_BAD_FILE,
      "an item of 'post_processor' is neither Sequence A or B nor a "
      "SpecialToken with ids in 'special_tokens'");
}

// The member of an object whose key is the string `name`.
static etx_cursor_value named(etx_cursor_value object, etx_cursor_value name) {
  char key[256];
  const etx_cursor_value none = {NULL, object.end};
  if (etx_cursor_kind(name) != '"' ||
      etx_cursor_string_size(name) >= sizeof key)
    return none;
  const size_t size = etx_cursor_string_copy(name, (uint8_t*)key);
  etx_cursor_walk walk = etx_cursor_items(object);
  etx_cursor_value other, value;
  uint8_t copy[256];
  while (walk.object && etx_cursor_next(&walk, &other, &value)) {
    if (etx_cursor_string_size(other) != size) continue;
    etx_cursor_string_copy(other, copy);
    if (memcmp(copy, key, size) == 0) return value;
  }
  return none;
}

static etx_status load_item(etx_cursor_value item, etx_cursor_value specials,
                            etx_template* out, etx_diag* diag) {
  const etx_cursor_value special = etx_cursor_get(item, "SpecialToken");
  const etx_cursor_value sequence = etx_cursor_get(item, "Sequence");
  uint32_t type = 0, id = 0;
  const etx_cursor_value inner = special.at != NULL ? special : sequence;
  if (!etx_cursor_unsigned_at(etx_cursor_get(inner, "type_id"), 255, &type)) {
    return bad_item(diag);
  }
  if (sequence.at != NULL) {
    const bool first =
        etx_cursor_string_is(etx_cursor_get(sequence, "id"), "A");
    return add_item(out, first ? ETX_TEMPLATE_TEXT : ETX_TEMPLATE_PAIR, type,
                    diag);
  }
  const etx_cursor_value entry = named(specials, etx_cursor_get(special, "id"));
  etx_cursor_walk ids = etx_cursor_items(etx_cursor_get(entry, "ids"));
  etx_cursor_value number;
  if (ids.next.at == NULL) return bad_item(diag);
  while (etx_cursor_next(&ids, NULL, &number)) {
    if (!etx_cursor_unsigned_at(number, ETX_TOKEN_ID_MAX, &id))
      return bad_item(diag);
    const etx_status status = add_item(out, (int32_t)id, type, diag);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

static etx_status load_template(etx_cursor_value list,
                                etx_cursor_value specials, etx_template* out,
                                etx_diag* diag) {
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value item;
  out->count = 0;
  while (etx_cursor_next(&walk, NULL, &item)) {
    const etx_status status = load_item(item, specials, out, diag);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

// The id of ["text", id].
static bool id_of(etx_cursor_value pair, int32_t* out) {
  etx_cursor_walk walk = etx_cursor_items(pair);
  etx_cursor_value text, number;
  uint32_t id = 0;
  if (!etx_cursor_next(&walk, NULL, &text) ||
      !etx_cursor_next(&walk, NULL, &number) ||
      !etx_cursor_unsigned_at(number, ETX_TOKEN_ID_MAX, &id)) {
    return false;
  }
  *out = (int32_t)id;
  return true;
}

// [CLS] A [SEP] B [SEP], or <s> A </s> </s> B </s> for Roberta.
static etx_status load_fixed(etx_cursor_value value, bool roberta,
                             etx_tokenizer_content* out, etx_diag* diag) {
  int32_t first = 0, last = 0;
  if (!id_of(etx_cursor_get(value, "cls"), &first) ||
      !id_of(etx_cursor_get(value, "sep"), &last)) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "'post_processor' needs 'cls' and 'sep' as [text, id]");
  }
  const uint8_t second = roberta ? 0 : 1;
  const etx_template single = {{{first, 0}, {ETX_TEMPLATE_TEXT, 0}, {last, 0}},
                               3};
  etx_template pair = single;
  if (roberta) pair.items[pair.count++] = (etx_template_item){last, 0};
  pair.items[pair.count++] = (etx_template_item){ETX_TEMPLATE_PAIR, second};
  pair.items[pair.count++] = (etx_template_item){last, second};
  out->single = single;
  out->pair = pair;
  return ETX_OK;
}

static void load_trim(etx_cursor_value value, etx_tokenizer_content* out) {
  if (!etx_cursor_bool(etx_cursor_get(value, "trim_offsets"), true)) return;
  out->trims = true;
  out->prefix_space =
      etx_cursor_bool(etx_cursor_get(value, "add_prefix_space"), true);
}

static etx_status load_one(etx_cursor_value value, etx_tokenizer_content* out,
                           etx_diag* diag) {
  const etx_cursor_value type = etx_cursor_get(value, "type");
  if (etx_cursor_string_is(type, "ByteLevel")) {
    load_trim(value, out);
    return ETX_OK;
  }
  if (etx_cursor_string_is(type, "BertProcessing")) {
    return load_fixed(value, false, out, diag);
  }
  if (etx_cursor_string_is(type, "RobertaProcessing")) {
    load_trim(value, out);
    return load_fixed(value, true, out, diag);
  }
  if (!etx_cursor_string_is(type, "TemplateProcessing")) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "'post_processor' has a type that is not supported");
  }
  const etx_cursor_value specials = etx_cursor_get(value, "special_tokens");
  const etx_status status = load_template(etx_cursor_get(value, "single"),
                                          specials, &out->single, diag);
  if (status != ETX_OK) return status;
  return load_template(etx_cursor_get(value, "pair"), specials, &out->pair,
                       diag);
}

etx_status etx_post_processor_load(etx_cursor_value value,
                                   etx_tokenizer_content* out, etx_diag* diag) {
  const etx_template single = {{{ETX_TEMPLATE_TEXT, 0}}, 1};
  const etx_template pair = {{{ETX_TEMPLATE_TEXT, 0}, {ETX_TEMPLATE_PAIR, 1}},
                             2};
  out->single = single;
  out->pair = pair;
  if (value.at == NULL) return ETX_OK;
  if (!etx_cursor_string_is(etx_cursor_get(value, "type"), "Sequence")) {
    return load_one(value, out, diag);
  }
  etx_cursor_walk walk = etx_cursor_items(etx_cursor_get(value, "processors"));
  etx_cursor_value item;
  while (etx_cursor_next(&walk, NULL, &item)) {
    const etx_status status = load_one(item, out, diag);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}
