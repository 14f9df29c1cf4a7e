// The text is read twice by the same loop: once to learn the sizes, once to
// store the elements.

#include "cli/tensors/tensor_literal.h"

#include "cli/tensors/element.h"

typedef struct reader {
  etx_text text;
  size_t at;     // next unread byte
  size_t depth;  // open brackets
  size_t rank;   // depth of the elements, SIZE_MAX before the first one
  int32_t sizes[ETX_MAX_RANK];   // -1: not known yet
  int32_t counts[ETX_MAX_RANK];  // items seen in the open list of each depth
  size_t element_count;
  bool wants_item;         // a comma or an opening bracket was last
  etx_host_tensor* store;  // NULL while sizes are learned
  etx_dtype dtype;
  etx_diag* diag;
} reader;

static etx_status refuse(const reader* in, const char* why) {
  return etx_diag_fail(in->diag, ETX_BAD_ARGUMENT, "%s at column %z of '%t'",
                       why, in->at + 1, in->text);
}

static etx_status count_item(reader* in) {
  if (in->depth == 0) return ETX_OK;
  if (in->counts[in->depth - 1] == INT32_MAX) return refuse(in, "too long");
  ++in->counts[in->depth - 1];
  return ETX_OK;
}

static etx_status open_list(reader* in) {
  if (in->depth == ETX_MAX_RANK || in->depth == in->rank) {
    return refuse(in, "a list is nested too deeply");
  }
  in->counts[in->depth++] = 0;
  in->wants_item = true;
  ++in->at;
  return ETX_OK;
}

static etx_status close_list(reader* in) {
  if (in->depth == 0) return refuse(in, "']' closes nothing");
  const size_t level = in->depth - 1;
  if (in->wants_item && in->counts[level] != 0) {
    return refuse(in, "an item is missing");
  }
  if (in->sizes[level] < 0) in->sizes[level] = in->counts[level];
  if (in->sizes[level] != in->counts[level]) {
    return refuse(in, "lists of one dimension differ in length");
  }
  // An empty list without lists in it is as deep as it gets.
  if (in->rank == SIZE_MAX && in->counts[level] == 0) in->rank = in->depth;
  --in->depth;
  in->wants_item = false;
  ++in->at;
  return count_item(in);
}

static bool ends_element(char byte) {
  return byte == ',' || byte == ']' || byte == '[' || byte == ' ';
}

static etx_status read_element(reader* in) {
  const size_t start = in->at;
  size_t end = start;
  while (end != in->text.size && !ends_element(in->text.data[end])) ++end;
  const etx_text word = {in->text.data + start, end - start};
  if (in->rank == SIZE_MAX) in->rank = in->depth;
  if (in->depth != in->rank) return refuse(in, "an element stands among lists");
  uint8_t hold[16];
  void* const target = in->store == NULL ? hold : in->store->data;
  const size_t index = in->store == NULL ? 0 : in->element_count;
  if (!etx_element_parse(in->dtype, word, target, index)) {
    return etx_diag_fail(in->diag, ETX_BAD_ARGUMENT,
                         "'%t' at column %z is not an element of %s", word,
                         start + 1, etx_dtype_name(in->dtype));
  }
  ++in->element_count;
  in->at = end;
  in->wants_item = false;
  return count_item(in);
}

static etx_status read_token(reader* in) {
  const char byte = in->text.data[in->at];
  if (byte == ' ') {
    ++in->at;
    return ETX_OK;
  }
  if (byte == ']') return close_list(in);
  if (byte == ',') {
    if (in->wants_item || in->depth == 0) {
      return refuse(in, "a comma stands where an item should");
    }
    in->wants_item = true;
    ++in->at;
    return ETX_OK;
  }
  if (!in->wants_item) return refuse(in, "a comma is missing");
  return byte == '[' ? open_list(in) : read_element(in);
}

static etx_status read_all(reader* in) {
  while (in->at != in->text.size) ETX_TRY(read_token(in));
  if (in->depth != 0) return refuse(in, "']' is missing");
  if (in->wants_item) return refuse(in, "a value is missing");
  return ETX_OK;
}

static reader start(etx_text text, etx_dtype dtype, etx_diag* diag) {
  reader in = {.text = text,
               .rank = SIZE_MAX,
               .wants_item = true,
               .dtype = dtype,
               .diag = diag};
  for (size_t i = 0; i < ETX_MAX_RANK; ++i) in.sizes[i] = -1;
  return in;
}

etx_status etx_tensor_literal_read(etx_text text, etx_dtype dtype,
                                   etx_pool* pool, etx_host_tensor* out_tensor,
                                   etx_diag* diag) {
  reader learn = start(text, dtype, diag);
  ETX_TRY(read_all(&learn));
  etx_host_tensor tensor = {.dtype = dtype, .rank = (uint8_t)learn.rank};
  for (size_t i = 0; i < tensor.rank; ++i) tensor.sizes[i] = learn.sizes[i];
  ETX_TRY(etx_host_tensor_allocate(&tensor, pool, diag));
  reader fill = start(text, dtype, diag);
  fill.store = &tensor;
  ETX_TRY(read_all(&fill));
  *out_tensor = tensor;
  return ETX_OK;
}
