// Rows of lowering.def are ranked: first by how their names are related, then
// by how far their overloads are apart, then by their order.

#include "exporter/lower/nearest_operator.h"

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"
#include "exporter/host/nearest_name.h"
#include "format/base/diag.h"

// "aten.add_.Tensor" in parts.
typedef struct operator_name {
  etx_text space;     // "aten"
  etx_text base;      // "add_"
  etx_text overload;  // "Tensor", may be empty
} operator_name;

// From the point after `start`, or to the end.
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

static etx_text without_tail(etx_text text, const char* tail) {
  const etx_text end = etx_text_of(tail);
  if (text.size <= end.size ||
      memcmp(text.data + text.size - end.size, end.data, end.size) != 0) {
    return text;
  }
  text.size -= end.size;
  return text;
}

// What is left of a name without the marks of a variant: "_add_" means add.
static etx_text stem(etx_text base) {
  while (base.size > 1 && base.data[0] == '_') {
    ++base.data;
    --base.size;
  }
  base = without_tail(base, "_");
  return without_tail(base, "_copy");
}

enum { FAR = 4 };

// True if there is an operator of that name: then it is not misspelled.
static bool is_spelled_well(etx_text base) {
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_text name = etx_text_of(etx_aten_schema_at(i)->name);
    if (etx_text_equal(split(name).base, base)) return true;
  }
  return false;
}

// 0 the same operator, then variants of it, then misspelled ones.
static size_t rank_of(etx_text wanted, etx_text candidate, bool is_known) {
  if (etx_text_equal(wanted, candidate)) return 0;
  if (etx_text_equal(stem(wanted), candidate)) return 1;
  if (etx_text_equal(stem(wanted), stem(candidate))) return 2;
  if (is_known) return FAR + 1;
  etx_nearest_name near = etx_nearest_start(wanted);
  etx_nearest_offer(&near, candidate);
  const size_t allowed = wanted.size < 6 ? 1 : 2;
  return near.best.size != 0 && near.distance <= allowed ? 2 + near.distance
                                                         : FAR + 1;
}

bool etx_operator_is_importable(etx_text aten) {
  return etx_lowering_find(aten) != NULL;
}

static const char* nearest(etx_text aten, bool is_known) {
  const operator_name wanted = split(aten);
  const char* best = NULL;
  size_t best_rank = FAR + 1;
  size_t best_distance = 0;
  for (size_t i = 0; i < etx_lowering_count(); ++i) {
    const char* const row = etx_lowering_at(i)->aten;
    const operator_name candidate = split(etx_text_of(row));
    if (!etx_text_equal(wanted.space, candidate.space)) continue;
    const size_t rank = rank_of(wanted.base, candidate.base, is_known);
    if (rank > FAR) continue;
    const size_t distance =
        etx_name_distance(wanted.overload, candidate.overload);
    if (rank > best_rank ||
        (rank == best_rank && (best == NULL || distance >= best_distance))) {
      continue;
    }
    best = row;
    best_rank = rank;
    best_distance = distance;
  }
  return best;
}

const char* etx_nearest_operator(etx_text aten) {
  return nearest(aten, is_spelled_well(split(aten).base));
}

bool etx_operator_is_in_place(etx_text aten) {
  const etx_text base = split(aten).base;
  const etx_text plain = without_tail(base, "_");
  // A name like __and__ says nothing of the kind.
  return plain.size < base.size && plain.data[plain.size - 1] != '_';
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
