#include "cli/program/dim_override.h"

#include <string.h>

#include "cli/tensors/element.h"

typedef struct override_parser {
  etx_dim_overrides dims;
  size_t method_index;  // in the blob
  size_t symbol_count;
  const char* option;  // the current "SYMBOL=SIZE" or "INPUT[DIM]=SIZE"
  etx_diag* diag;
} override_parser;

static bool starts_with(const char* word, const char* start, size_t size,
                        char next) {
  return strncmp(word, start, size) == 0 && word[size] == next;
}

static bool read_number(const char* text, size_t size, int64_t* out_number) {
  const etx_text digits = {text, size};
  return size != 0 && *text >= '0' && *text <= '9' &&
         etx_element_parse(ETX_DTYPE_INT64, digits, out_number, 0);
}

static etx_blob_symbol symbol_at(const override_parser* p, size_t symbol) {
  return etx_blob_symbol_at(&p->dims.program->blob, p->method_index, symbol);
}

static etx_status refuse_form(const override_parser* p) {
  return etx_diag_fail(p->diag, ETX_BAD_ARGUMENT,
                       "'--%s %s' is not of the form SYMBOL=SIZE or "
                       "INPUT[DIM]=SIZE with whole numbers",
                       p->dims.flag, p->option);
}

static etx_status refuse_fixed(const override_parser* p) {
  return etx_diag_fail(
      p->diag, ETX_BAD_ARGUMENT,
      "'--%s %s' names no dynamic dimension of method '%t'; see "
      "etx inspect",
      p->dims.flag, p->option, p->dims.method);
}

static etx_status set_symbol(const override_parser* p, size_t symbol,
                             int64_t value) {
  etx_dim_override_symbol* const earlier = &p->dims.symbols[symbol];
  if (earlier->option != NULL && earlier->value != value) {
    return etx_diag_fail(p->diag, ETX_BAD_ARGUMENT,
                         "'--%s %s' contradicts '--%s %s': both give '%t' of "
                         "method '%t'",
                         p->dims.flag, p->option, p->dims.flag, earlier->option,
                         symbol_at(p, symbol).name, p->dims.method);
  }
  if (earlier->option == NULL)
    *earlier = (etx_dim_override_symbol){p->option, value};
  return ETX_OK;
}

// ---- SYMBOL=SIZE ----

static bool find_symbol(const override_parser* p, size_t* out_symbol) {
  for (size_t i = 0; i < p->symbol_count; ++i) {
    const etx_text name = symbol_at(p, i).name;
    if (starts_with(p->option, name.data, name.size, '=')) {
      *out_symbol = i;
      return true;
    }
  }
  return false;
}

static etx_status read_symbol_size(const override_parser* p, size_t at) {
  const etx_blob_symbol symbol = symbol_at(p, at);
  const char* const text = p->option + symbol.name.size + 1;
  int64_t value = 0;
  if (!read_number(text, strlen(text), &value)) return refuse_form(p);
  if (value < symbol.minimum || value > symbol.maximum) {
    return etx_diag_fail(p->diag, ETX_BAD_ARGUMENT,
                         "'--%s %s' is impossible: %t is from %i to %i",
                         p->dims.flag, p->option, symbol.name, symbol.minimum,
                         symbol.maximum);
  }
  return set_symbol(p, at, value);
}

// ---- INPUT[DIM]=SIZE ----

static etx_status find_input(const override_parser* p, etx_port* out_port,
                             bool* out_found) {
  etx_pte_plan plan;
  ETX_TRY(
      etx_program_find_plan(p->dims.program, p->dims.method, &plan, p->diag));
  const size_t count = etx_pte_input_count(&plan);
  *out_found = false;
  for (size_t i = 0; i < count && !*out_found; ++i) {
    ETX_TRY(
        etx_port_input(p->dims.program, p->dims.method, i, out_port, p->diag));
    *out_found =
        starts_with(p->option, out_port->name, strlen(out_port->name), '[');
  }
  return ETX_OK;
}

// "'--dim y[0]=5' is impossible: the dimension is 2*s, and s is from 1 to 8".
static etx_status refuse_size(const override_parser* p,
                              const etx_blob_input_dim* row,
                              const etx_blob_symbol* symbol) {
  char factor[32] = "", offset[32] = "";
  if (row->factor != 1) {
    etx_format_text(factor, sizeof factor, "%i*", row->factor);
  }
  if (row->offset != 0) {
    etx_format_text(offset, sizeof offset, row->offset < 0 ? "%i" : "+%i",
                    row->offset);
  }
  return etx_diag_fail(p->diag, ETX_BAD_ARGUMENT,
                       "'--%s %s' is impossible: the dimension is %s%t%s, and "
                       "%t is from %i to %i",
                       p->dims.flag, p->option, factor, symbol->name, offset,
                       symbol->name, symbol->minimum, symbol->maximum);
}

static etx_status read_dim_size(const override_parser* p, const etx_port* port,
                                int32_t dim, int64_t size) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  if (!etx_port_dim(p->dims.program, p->dims.method, port, dim, &row,
                    &symbol)) {
    const int64_t fixed = port->info.value.as.tensor.sizes[dim];
    return size == fixed ? ETX_OK : refuse_fixed(p);
  }
  // The range is checked first, so that the subtraction cannot overflow.
  if (size < row.factor * symbol.minimum + row.offset ||
      size > row.factor * symbol.maximum + row.offset ||
      (size - row.offset) % row.factor != 0) {
    return refuse_size(p, &row, &symbol);
  }
  return set_symbol(p, row.symbol, (size - row.offset) / row.factor);
}

static etx_status read_input_size(const override_parser* p,
                                  const etx_port* port) {
  const char* const open = p->option + strlen(port->name) + 1;
  const char* const close = strchr(open, ']');
  int64_t dim = 0, size = 0;
  if (close == NULL || close[1] != '=' ||
      !read_number(open, (size_t)(close - open), &dim) ||
      !read_number(close + 2, strlen(close + 2), &size)) {
    return refuse_form(p);
  }
  if (port->info.kind != ETX_PTE_TENSOR ||
      dim >= port->info.value.as.tensor.rank) {
    return refuse_fixed(p);
  }
  return read_dim_size(p, port, (int32_t)dim, size);
}

static etx_status read_override(const override_parser* p) {
  size_t symbol = 0;
  if (find_symbol(p, &symbol)) return read_symbol_size(p, symbol);
  etx_port port;
  bool is_found = false;
  ETX_TRY(find_input(p, &port, &is_found));
  if (is_found) return read_input_size(p, &port);
  return strchr(p->option, '=') == NULL ? refuse_form(p) : refuse_fixed(p);
}

static etx_status read_symbols(override_parser* p, etx_pool* pool) {
  const etx_program* const program = p->dims.program;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, p->dims.method, &p->method_index)) {
    return ETX_OK;
  }
  p->symbol_count = etx_blob_symbol_count(&program->blob, p->method_index);
  p->dims.symbols =
      etx_pool_take(pool, (p->symbol_count + 1) * sizeof *p->dims.symbols);
  if (p->dims.symbols == NULL) {
    return etx_diag_fail(p->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for sizes");
  }
  for (size_t i = 0; i < p->symbol_count; ++i) {
    p->dims.symbols[i] =
        (etx_dim_override_symbol){NULL, symbol_at(p, i).maximum};
  }
  return ETX_OK;
}

etx_status etx_dim_overrides_read(const etx_program* program, etx_text method,
                                  const etx_dim_options* given, etx_pool* pool,
                                  etx_dim_overrides* out_dims, etx_diag* diag) {
  const etx_option_list* const options = given->options;
  override_parser parser = {.dims = {program, method, NULL, given->flag},
                            .diag = diag};
  ETX_TRY(read_symbols(&parser, pool));
  for (size_t i = 0; options != NULL && i < options->count; ++i) {
    parser.option = options->items[i];
    ETX_TRY(read_override(&parser));
  }
  *out_dims = parser.dims;
  return ETX_OK;
}

etx_status etx_dim_override_is_known(const etx_program* program,
                                     etx_text method, const char* option,
                                     bool* out_known, etx_diag* diag) {
  override_parser parser = {
      .dims = {program, method, NULL, ""}, .option = option, .diag = diag};
  etx_port port;
  size_t symbol = 0;
  if (program->has_blob &&
      etx_blob_method_find(&program->blob, method, &parser.method_index)) {
    parser.symbol_count =
        etx_blob_symbol_count(&program->blob, parser.method_index);
  }
  *out_known = find_symbol(&parser, &symbol);
  return *out_known ? ETX_OK : find_input(&parser, &port, out_known);
}

int64_t etx_dim_override_size(const etx_dim_overrides* dims,
                              const etx_port* port, int32_t dim,
                              int64_t otherwise, const char** out_option) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  *out_option = NULL;
  if (!etx_port_dim(dims->program, dims->method, port, dim, &row, &symbol)) {
    return otherwise;
  }
  const etx_dim_override_symbol* const symbol_value =
      &dims->symbols[row.symbol];
  *out_option = symbol_value->option;
  return row.factor * symbol_value->value + row.offset;
}

static etx_status check_agreement(const etx_dim_overrides* dims,
                                  const etx_port* port, int32_t dim,
                                  int64_t given, etx_diag* diag) {
  const char* option = NULL;
  const int64_t size = etx_dim_override_size(dims, port, dim, given, &option);
  if (option == NULL || size == given) return ETX_OK;
  if (dim < 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'--%s %s' contradicts input '%s', which is %i",
                         dims->flag, option, port->name, given);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "'--%s %s' contradicts input '%s', whose dimension %i "
                       "is %i",
                       dims->flag, option, port->name, (int64_t)dim, given);
}

etx_status etx_dim_overrides_agree(const etx_dim_overrides* dims,
                                   const etx_port* port, const etx_value* value,
                                   etx_diag* diag) {
  if (value->kind == ETX_VALUE_INT) {
    return check_agreement(dims, port, -1, value->as.integer, diag);
  }
  // The method refuses values of another kind or rank.
  if (value->kind != ETX_VALUE_TENSOR || port->info.kind != ETX_PTE_TENSOR ||
      value->as.tensor.rank != port->info.value.as.tensor.rank) {
    return ETX_OK;
  }
  for (size_t i = 0; i < value->as.tensor.rank; ++i) {
    ETX_TRY(check_agreement(dims, port, (int32_t)i, value->as.tensor.sizes[i],
                            diag));
  }
  return ETX_OK;
}
