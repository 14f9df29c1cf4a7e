// The importable operators are ranked: first by how their names are related to
// the wanted name, then by the distance between the overloads, then by how
// usual the overload is, then by name.

#include "exporter/lower/nearest_operator.h"

#include "exporter/host/nearest_name.h"
#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"
#include "format/base/diag.h"

// "aten.add_.Tensor" in parts.
typedef struct operator_name {
  etx_text space;     // "aten"
  etx_text base;      // "add_"
  etx_text overload;  // "Tensor", may be empty
} operator_name;

// The text from `*start` to the next point or the end. Moves `*start` behind
// the point.
static etx_text next_part(etx_text text, size_t* start) {
  size_t end = *start;
  while (end < text.size && text.data[end] != '.') ++end;
  const etx_text part = {text.data + *start, end - *start};
  *start = end < text.size ? end + 1 : end;
  return part;
}

static operator_name split(etx_text text) {
  operator_name name;
  size_t at = 0;
  name.space = next_part(text, &at);
  name.base = next_part(text, &at);
  name.overload = next_part(text, &at);
  return name;
}

static operator_name schema_name(size_t index) {
  return split(etx_text_of(etx_aten_schema_at(index)->name));
}

static etx_text without_suffix(etx_text text, const char* suffix) {
  const etx_text end = etx_text_of(suffix);
  if (text.size <= end.size ||
      memcmp(text.data + text.size - end.size, end.data, end.size) != 0) {
    return text;
  }
  text.size -= end.size;
  return text;
}

// A name without the marks of its variants: add for "add_" and "_add", view for
// "view_copy".
static etx_text stem(etx_text base) {
  while (base.size > 1 && base.data[0] == '_') {
    ++base.data;
    --base.size;
  }
  base = without_suffix(base, "_");
  return without_suffix(base, "_copy");
}

// True if an operator, supported or not, has that name: then the name is not
// misspelled.
static bool is_operator_name(etx_text base) {
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    if (etx_text_equal(schema_name(i).base, base)) return true;
  }
  return false;
}

enum { SAME, SAME_STEM = 2, MAX_SPELLING_DISTANCE = 2 };

// The worst rank of a related name; other names have higher ranks.
enum { MAX_RANK = SAME_STEM + MAX_SPELLING_DISTANCE };

// How `candidate` is related to `wanted`: the same name, then variants of it,
// then, unless `is_known` says that `wanted` exists, similar spellings.
static size_t rank_of(etx_text wanted, etx_text candidate, bool is_known) {
  if (etx_text_equal(wanted, candidate)) return SAME;
  if (etx_text_equal(stem(wanted), candidate)) return SAME + 1;
  if (etx_text_equal(stem(wanted), stem(candidate))) return SAME_STEM;
  if (is_known) return MAX_RANK + 1;
  etx_nearest_name near = etx_nearest_start(wanted);
  etx_nearest_offer(&near, candidate);
  const size_t allowed = wanted.size < 6 ? 1 : MAX_SPELLING_DISTANCE;
  return near.best.size != 0 && near.distance <= allowed
             ? SAME_STEM + near.distance
             : MAX_RANK + 1;
}

// A call without further hints means the default overload, or that of tensors.
static size_t rareness(etx_text overload) {
  if (etx_text_is(overload, "default")) return 0;
  const etx_text tensor = etx_text_of("Tensor");  // and "Tensor_mode"
  return overload.size >= tensor.size &&
                 memcmp(overload.data, tensor.data, tensor.size) == 0
             ? 1
             : 2;
}

// A candidate for the wanted operator; the smaller numbers are the nearer.
typedef struct candidate {
  const char* name;
  size_t rank;
  size_t distance;  // between the overloads
  size_t rareness;
} candidate;

static bool is_nearer(const candidate* a, const candidate* b) {
  if (a->rank != b->rank) return a->rank < b->rank;
  if (a->distance != b->distance) return a->distance < b->distance;
  return a->rareness < b->rareness;
}

bool etx_operator_is_importable(etx_text aten) {
  return etx_lowering_find(aten) != NULL;
}

static const char* nearest(etx_text aten, bool is_known) {
  const operator_name wanted = split(aten);
  candidate best = {NULL, MAX_RANK + 1, 0, 0};
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const operator_name name = schema_name(i);
    if (!etx_text_equal(wanted.space, name.space)) continue;
    const size_t rank = rank_of(wanted.base, name.base, is_known);
    if (rank > best.rank) continue;
    const candidate next = {etx_aten_schema_at(i)->name, rank,
                            etx_name_distance(wanted.overload, name.overload),
                            rareness(name.overload)};
    if (is_nearer(&next, &best) &&
        etx_operator_is_importable(etx_text_of(next.name))) {
      best = next;
    }
  }
  return best.rank <= MAX_RANK ? best.name : NULL;
}

const char* etx_nearest_operator(etx_text aten) {
  return nearest(aten, is_operator_name(split(aten).base));
}

bool etx_operator_is_in_place(etx_text aten) {
  const etx_text base = split(aten).base;
  const etx_text functional = without_suffix(base, "_");
  // Names like __and__ are those of Python's operators, which do not write.
  return functional.size < base.size &&
         functional.data[functional.size - 1] != '_';
}

static const char* hint(const char* form, char* out, size_t capacity) {
  out[0] = '\0';
  if (form != NULL) {
    etx_format_text(out, capacity, "; the nearest supported form is '%s'",
                    form);
  }
  return out;
}

const char* etx_nearest_operator_hint(etx_text aten, char* out,
                                      size_t capacity) {
  return hint(etx_nearest_operator(aten), out, capacity);
}

const char* etx_nearest_form_hint(etx_text aten, char* out, size_t capacity) {
  return hint(nearest(aten, true), out, capacity);
}

// ------------------------------------------------ several operators

static bool is_namespace(etx_text text) {
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    if (etx_text_equal(schema_name(i).space, text)) return true;
  }
  return false;
}

// The base name in "relu", "relu.out", "aten.relu.default", "aten::relu.out".
static etx_text base_of_word(etx_text word) {
  for (size_t i = 0; i + 1 < word.size; ++i) {
    if (word.data[i] != ':' || word.data[i + 1] != ':') continue;
    const etx_text rest = {word.data + i + 2, word.size - i - 2};
    size_t start = 0;
    return next_part(rest, &start);
  }
  const operator_name name = split(word);
  return name.base.size != 0 && is_namespace(name.space) ? name.base
                                                         : name.space;
}

static bool contains(etx_text text, etx_text part) {
  for (size_t i = 0; i + part.size <= text.size; ++i) {
    if (memcmp(text.data + i, part.data, part.size) == 0) return true;
  }
  return false;
}

typedef struct suggestions {
  etx_text base[ETX_NEAREST_OPERATORS];
  size_t rank[ETX_NEAREST_OPERATORS];  // ascending
  size_t count;
} suggestions;

// Inserts behind those of the same rank; the last one drops out if all places
// are taken.
static void insert(suggestions* s, const char** names, const char* name,
                   size_t rank) {
  const etx_text base = split(etx_text_of(name)).base;
  size_t at = s->count;
  while (at > 0 && s->rank[at - 1] > rank) --at;
  if (at == ETX_NEAREST_OPERATORS) return;
  if (s->count < ETX_NEAREST_OPERATORS) ++s->count;
  for (size_t i = s->count - 1; i > at; --i) {
    s->base[i] = s->base[i - 1];
    s->rank[i] = s->rank[i - 1];
    names[i] = names[i - 1];
  }
  s->base[at] = base;
  s->rank[at] = rank;
  names[at] = name;
}

// True if an overload of that operator is a suggestion already. The more usual
// overload stays.
static bool merge_overload(const suggestions* s, const char** names,
                           const char* name) {
  const operator_name added = split(etx_text_of(name));
  for (size_t i = 0; i < s->count; ++i) {
    if (!etx_text_equal(s->base[i], added.base)) continue;
    const etx_text overload = split(etx_text_of(names[i])).overload;
    if (rareness(added.overload) < rareness(overload)) names[i] = name;
    return true;
  }
  return false;
}

size_t etx_nearest_operators(etx_text word,
                             const char* out_names[ETX_NEAREST_OPERATORS]) {
  const etx_text wanted = base_of_word(word);
  const bool is_known = is_operator_name(wanted);
  suggestions s = {.count = 0};
  if (wanted.size == 0) return 0;
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const char* const name = etx_aten_schema_at(i)->name;
    const etx_text base = schema_name(i).base;
    size_t rank = rank_of(wanted, base, is_known);
    if (rank > MAX_RANK) {
      if (wanted.size < 3 || !contains(base, wanted)) continue;
      rank += base.size - wanted.size;  // the shorter, the nearer
    }
    if (!etx_operator_is_importable(etx_text_of(name))) continue;
    if (!merge_overload(&s, out_names, name)) insert(&s, out_names, name, rank);
  }
  return s.count;
}
