#include "exporter/specialize/specialize_option.h"

#include "exporter/host/read_digits.h"

// Splits `rest` at the first `separator`. False if it has none; then the part
// is all of it.
static bool split(etx_text* rest, char separator, etx_text* out_part) {
  size_t at = 0;
  while (at < rest->size && rest->data[at] != separator) ++at;
  *out_part = (etx_text){rest->data, at};
  const bool is_found = at < rest->size;
  const size_t used = is_found ? at + 1 : at;
  *rest = (etx_text){rest->data + used, rest->size - used};
  return is_found;
}

static bool read_size(etx_text digits, int64_t* out) {
  return etx_read_digits(digits, out) && *out <= INT32_MAX;
}

// `N` or `LOW..HIGH`.
static bool read_range(etx_text text, etx_specialize_range* out) {
  etx_text low;
  etx_text high = text;
  if (!split(&high, '.', &low)) {
    out->high = 0;
    if (!read_size(text, &out->low)) return false;
    out->high = out->low;
    return true;
  }
  if (high.size == 0 || high.data[0] != '.') return false;
  high = (etx_text){high.data + 1, high.size - 1};
  return read_size(low, &out->low) && read_size(high, &out->high) &&
         out->low <= out->high;
}

// `NAME=RANGE,RANGE`.
static bool read_symbol(etx_text text, etx_specialize_symbol* out) {
  etx_text rest = text;
  if (!split(&rest, '=', &out->name) || out->name.size == 0) return false;
  out->range_count = 0;
  for (bool has_more = true; has_more;) {
    etx_text part;
    has_more = split(&rest, ',', &part);
    if (out->range_count == ETX_SPECIALIZE_RANGES ||
        !read_range(part, &out->ranges[out->range_count])) {
      return false;
    }
    ++out->range_count;
  }
  return true;
}

static bool read_option(etx_text text, etx_specialize_option* out) {
  etx_text rest = text;
  if (!split(&rest, ':', &out->method)) {
    out->method = (etx_text){text.data, 0};
    rest = text;
  } else if (out->method.size == 0) {
    return false;
  }
  for (bool has_more = true; has_more;) {
    etx_text part;
    has_more = split(&rest, ';', &part);
    if (out->symbol_count == ETX_SPECIALIZE_SYMBOLS ||
        !read_symbol(part, &out->symbols[out->symbol_count])) {
      return false;
    }
    ++out->symbol_count;
  }
  return true;
}

etx_status etx_specialize_option_read(etx_text text, etx_specialize_option* out,
                                      etx_diag* diag) {
  memset(out, 0, sizeof *out);
  out->text = text;
  if (read_option(text, out)) return ETX_OK;
  return etx_diag_fail(
      diag, ETX_BAD_ARGUMENT,
      "'%t' should have the form [METHOD:]NAME=N,LOW..HIGH,..., such as T=1,16 "
      "or forward:T=1,2..16, with at most %z sizes; several symbols are "
      "separated by ';', at most %z",
      text, (size_t)ETX_SPECIALIZE_RANGES, (size_t)ETX_SPECIALIZE_SYMBOLS);
}
