#include "cli/bench/dim_override.h"

#include <string.h>

#include "cli/tensors/element.h"

typedef struct reader {
  etx_dim_overrides dims;
  size_t method_index;  // in the blob
  size_t symbol_count;
  const char* word;  // the present wish
  etx_diag* diag;
} reader;

static bool starts_with(const char* word, const char* start, size_t size,
                        char next) {
  return strncmp(word, start, size) == 0 && word[size] == next;
}

static bool read_number(const char* text, size_t size, int64_t* out_number) {
  const etx_text digits = {text, size};
  return size != 0 && *text >= '0' && *text <= '9' &&
         etx_element_parse(ETX_DTYPE_INT64, digits, out_number, 0);
}

static etx_blob_symbol symbol_at(const reader* r, size_t symbol) {
  return etx_blob_symbol_at(&r->dims.program->blob, r->method_index, symbol);
}

static etx_status refuse_form(const reader* r) {
  return etx_diag_fail(r->diag, ETX_BAD_ARGUMENT,
                       "'--dim %s' is not of the form SYMBOL=SIZE or "
                       "INPUT[DIM]=SIZE with whole numbers",
                       r->word);
}

static etx_status refuse_fixed(const reader* r) {
  return etx_diag_fail(r->diag, ETX_BAD_ARGUMENT,
                       "'--dim %s' is no dimension of method '%t' that "
                       "varies; etx inspect lists them",
                       r->word, r->dims.method);
}

static etx_status wish(const reader* r, size_t symbol, int64_t value) {
  etx_dim_override_symbol* const wished = &r->dims.symbols[symbol];
  if (wished->word != NULL && wished->value != value) {
    return etx_diag_fail(r->diag, ETX_BAD_ARGUMENT,
                         "'--dim %s' contradicts '--dim %s': both say what "
                         "'%t' of method '%t' is",
                         r->word, wished->word, symbol_at(r, symbol).name,
                         r->dims.method);
  }
  if (wished->word == NULL) *wished = (etx_dim_override_symbol){r->word, value};
  return ETX_OK;
}

// ---- SYMBOL=SIZE ----

static bool find_symbol(const reader* r, size_t* out_symbol) {
  for (size_t i = 0; i < r->symbol_count; ++i) {
    const etx_text name = symbol_at(r, i).name;
    if (starts_with(r->word, name.data, name.size, '=')) {
      *out_symbol = i;
      return true;
    }
  }
  return false;
}

static etx_status wish_symbol(const reader* r, size_t at) {
  const etx_blob_symbol symbol = symbol_at(r, at);
  const char* const text = r->word + symbol.name.size + 1;
  int64_t value = 0;
  if (!read_number(text, strlen(text), &value)) return refuse_form(r);
  if (value < symbol.minimum || value > symbol.maximum) {
    return etx_diag_fail(r->diag, ETX_BAD_ARGUMENT,
                         "'--dim %s' cannot be: %t is from %i to %i", r->word,
                         symbol.name, symbol.minimum, symbol.maximum);
  }
  return wish(r, at, value);
}

// ---- INPUT[DIM]=SIZE ----

static etx_status find_input(const reader* r, etx_port* out_port,
                             bool* out_found) {
  etx_pte_plan plan;
  ETX_TRY(
      etx_program_find_plan(r->dims.program, r->dims.method, &plan, r->diag));
  const size_t count = etx_pte_input_count(&plan);
  *out_found = false;
  for (size_t i = 0; i < count && !*out_found; ++i) {
    ETX_TRY(
        etx_port_input(r->dims.program, r->dims.method, i, out_port, r->diag));
    *out_found =
        starts_with(r->word, out_port->name, strlen(out_port->name), '[');
  }
  return ETX_OK;
}

// "'--dim y[0]=5' cannot be: that dimension is 2*s, and s is from 1 to 8".
static etx_status refuse_size(const reader* r, const etx_blob_input_dim* row,
                              const etx_blob_symbol* symbol) {
  char factor[32] = "", offset[32] = "";
  if (row->factor != 1) {
    etx_format_text(factor, sizeof factor, "%i*", row->factor);
  }
  if (row->offset != 0) {
    etx_format_text(offset, sizeof offset, row->offset < 0 ? "%i" : "+%i",
                    row->offset);
  }
  return etx_diag_fail(r->diag, ETX_BAD_ARGUMENT,
                       "'--dim %s' cannot be: that dimension is %s%t%s, and "
                       "%t is from %i to %i",
                       r->word, factor, symbol->name, offset, symbol->name,
                       symbol->minimum, symbol->maximum);
}

static etx_status wish_dim(const reader* r, const etx_port* port, int32_t dim,
                           int64_t size) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  if (!etx_port_dim(r->dims.program, r->dims.method, port, dim, &row,
                    &symbol)) {
    const int64_t fixed = port->info.value.as.tensor.sizes[dim];
    return size == fixed ? ETX_OK : refuse_fixed(r);
  }
  // In range first, so that nothing overflows.
  if (size < row.factor * symbol.minimum + row.offset ||
      size > row.factor * symbol.maximum + row.offset ||
      (size - row.offset) % row.factor != 0) {
    return refuse_size(r, &row, &symbol);
  }
  return wish(r, row.symbol, (size - row.offset) / row.factor);
}

static etx_status wish_input(const reader* r, const etx_port* port) {
  const char* const open = r->word + strlen(port->name) + 1;
  const char* const close = strchr(open, ']');
  int64_t dim = 0, size = 0;
  if (close == NULL || close[1] != '=' ||
      !read_number(open, (size_t)(close - open), &dim) ||
      !read_number(close + 2, strlen(close + 2), &size)) {
    return refuse_form(r);
  }
  if (port->info.kind != ETX_PTE_TENSOR ||
      dim >= port->info.value.as.tensor.rank) {
    return refuse_fixed(r);
  }
  return wish_dim(r, port, (int32_t)dim, size);
}

static etx_status read_word(const reader* r) {
  size_t symbol = 0;
  if (find_symbol(r, &symbol)) return wish_symbol(r, symbol);
  etx_port port;
  bool is_found = false;
  ETX_TRY(find_input(r, &port, &is_found));
  if (is_found) return wish_input(r, &port);
  return strchr(r->word, '=') == NULL ? refuse_form(r) : refuse_fixed(r);
}

static etx_status start(reader* r, etx_pool* pool) {
  const etx_program* const program = r->dims.program;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, r->dims.method, &r->method_index)) {
    return ETX_OK;
  }
  r->symbol_count = etx_blob_symbol_count(&program->blob, r->method_index);
  r->dims.symbols =
      etx_pool_take(pool, (r->symbol_count + 1) * sizeof *r->dims.symbols);
  if (r->dims.symbols == NULL) {
    return etx_diag_fail(r->diag, ETX_OUT_OF_MEMORY, "no memory for sizes");
  }
  for (size_t i = 0; i < r->symbol_count; ++i) {
    r->dims.symbols[i] =
        (etx_dim_override_symbol){NULL, symbol_at(r, i).maximum};
  }
  return ETX_OK;
}

etx_status etx_dim_overrides_read(const etx_program* program, etx_text method,
                                  const etx_option_list* words, etx_pool* pool,
                                  etx_dim_overrides* out_dims, etx_diag* diag) {
  reader r = {.dims = {program, method, NULL}, .diag = diag};
  ETX_TRY(start(&r, pool));
  for (size_t i = 0; words != NULL && i < words->count; ++i) {
    r.word = words->items[i];
    ETX_TRY(read_word(&r));
  }
  *out_dims = r.dims;
  return ETX_OK;
}

int64_t etx_dim_override_size(const etx_dim_overrides* dims,
                              const etx_port* port, int32_t dim,
                              int64_t otherwise, const char** out_word) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  *out_word = NULL;
  if (!etx_port_dim(dims->program, dims->method, port, dim, &row, &symbol)) {
    return otherwise;
  }
  const etx_dim_override_symbol* const wished = &dims->symbols[row.symbol];
  *out_word = wished->word;
  return row.factor * wished->value + row.offset;
}

static etx_status agree(const etx_dim_overrides* dims, const etx_port* port,
                        int32_t dim, int64_t given, etx_diag* diag) {
  const char* word = NULL;
  const int64_t size = etx_dim_override_size(dims, port, dim, given, &word);
  if (word == NULL || size == given) return ETX_OK;
  if (dim < 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'--dim %s' contradicts input '%s', which is %i", word,
                         port->name, given);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "'--dim %s' contradicts input '%s', whose dimension %i "
                       "is %i",
                       word, port->name, (int64_t)dim, given);
}

etx_status etx_dim_overrides_agree(const etx_dim_overrides* dims,
                                   const etx_port* port, const etx_value* value,
                                   etx_diag* diag) {
  if (value->kind == ETX_VALUE_INT) {
    return agree(dims, port, -1, value->as.integer, diag);
  }
  // What else does not fit is refused by the method.
  if (value->kind != ETX_VALUE_TENSOR || port->info.kind != ETX_PTE_TENSOR ||
      value->as.tensor.rank != port->info.value.as.tensor.rank) {
    return ETX_OK;
  }
  for (size_t i = 0; i < value->as.tensor.rank; ++i) {
    ETX_TRY(agree(dims, port, (int32_t)i, value->as.tensor.sizes[i], diag));
  }
  return ETX_OK;
}
