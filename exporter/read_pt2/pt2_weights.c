// Stored tensors. In the archive each is a view (file, offset, sizes, strides
// in elements) of a storage that several tensors may share. A view becomes a
// dense constant; equal contents become one constant.

#include "exporter/read_pt2/pt2_internal.h"
#include "format/base/checked_math.h"

typedef struct stored_view {
  etx_ir_constant type;
  int64_t strides[ETX_MAX_RANK];
  int64_t offset;  // elements
  etx_text path;   // file name under the folder
} stored_view;

// A plain, non-negative integer in a SymInt union.
static etx_status read_nonnegative(etx_pt2_graph* graph, const etx_json* value,
                                   const char* what, int64_t* out) {
  etx_text tag;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(graph, value, &tag, &payload));
  if (!etx_text_is(tag, "as_int") || payload->kind != ETX_JSON_INT ||
      payload->integer < 0) {
    return etx_pt2_fail_malformed(graph, "%s should be a non-negative integer",
                                  what);
  }
  *out = payload->integer;
  return ETX_OK;
}

static etx_status read_view(etx_pt2_graph* graph, const etx_json* entry,
                            stored_view* out) {
  const etx_json *meta = NULL, *sizes = NULL, *strides = NULL;
  const etx_json* const pickled = etx_json_member(entry, "use_pickle");
  memset(out, 0, sizeof *out);
  ETX_TRY(etx_pt2_text(graph, entry, "path_name", &out->path));
  if (pickled != NULL && pickled->kind == ETX_JSON_BOOL && pickled->boolean) {
    return etx_pt2_fail_unsupported(
        graph,
        "the tensor is pickled, like those of torchao's tensor subclasses: "
        "call .run_decompositions({}) before torch.export.save");
  }
  if (memchr(out->path.data, '/', out->path.size) != NULL ||
      memchr(out->path.data, '\\', out->path.size) != NULL) {
    return etx_pt2_fail_malformed(graph, "'%t' is not a plain file name",
                                  out->path);
  }
  ETX_TRY(etx_pt2_field(graph, entry, "tensor_meta", ETX_JSON_OBJECT, &meta));
  ETX_TRY(etx_pt2_field(graph, meta, "sizes", ETX_JSON_ARRAY, &sizes));
  ETX_TRY(etx_pt2_field(graph, meta, "strides", ETX_JSON_ARRAY, &strides));
  ETX_TRY(etx_pt2_check_storage(graph, meta));
  ETX_TRY(
      etx_pt2_dtype(graph, etx_json_member(meta, "dtype"), &out->type.dtype));
  if (sizes->count != strides->count || sizes->count > ETX_MAX_RANK) {
    return etx_pt2_fail_malformed(
        graph,
        "%z sizes and %z strides, expected the same number of at most %i",
        sizes->count, strides->count, (int64_t)ETX_MAX_RANK);
  }
  out->type.rank = (uint8_t)sizes->count;
  for (size_t i = 0; i < sizes->count; ++i) {
    ETX_TRY(read_nonnegative(graph, &sizes->items[i], "a size",
                             &out->type.sizes[i]));
    ETX_TRY(read_nonnegative(graph, &strides->items[i], "a stride",
                             &out->strides[i]));
  }
  return read_nonnegative(graph, etx_json_member(meta, "storage_offset"),
                          "the storage offset", &out->offset);
}

// The number of elements of the tensor, and the number of elements that its
// storage must have. False on overflow.
static bool measure_view(const stored_view* v, uint64_t* out_count,
                         uint64_t* out_extent) {
  uint64_t count = 1, extent = (uint64_t)v->offset;
  for (size_t i = 0; i < v->type.rank; ++i) {
    if (v->type.sizes[i] == 0) {
      *out_count = *out_extent = 0;
      return true;
    }
  }
  for (size_t i = 0; i < v->type.rank; ++i) {
    uint64_t reach = 0;
    if (!etx_multiply_u64(count, (uint64_t)v->type.sizes[i], &count) ||
        !etx_multiply_u64((uint64_t)v->type.sizes[i] - 1,
                          (uint64_t)v->strides[i], &reach) ||
        !etx_add_u64(extent, reach, &extent)) {
      return false;
    }
  }
  *out_count = count;
  return etx_add_u64(extent, 1, out_extent);
}

etx_status etx_pt2_payload_type(etx_pt2_graph* graph, const etx_json* entry,
                                etx_ir_constant* out_type) {
  stored_view v;
  uint64_t count = 0, extent = 0, bytes = 0;
  ETX_TRY(read_view(graph, entry, &v));
  if (!measure_view(&v, &count, &extent) ||
      !etx_multiply_u64(extent, etx_dtype_bytes(v.type.dtype), &bytes)) {
    return etx_pt2_fail_malformed(graph, "the sizes overflow");
  }
  *out_type = v.type;
  return ETX_OK;
}

static bool is_dense(const stored_view* v) {
  int64_t expected = 1;
  for (size_t i = v->type.rank; i-- > 0;) {
    if (v->type.sizes[i] != 1 && v->strides[i] != expected) return false;
    expected *= v->type.sizes[i];
  }
  return true;
}

// Copies the elements of the view in row-major order.
static void gather(const stored_view* v, const uint8_t* storage, size_t item,
                   uint64_t count, uint8_t* out) {
  int64_t at[ETX_MAX_RANK] = {0};
  uint64_t position = (uint64_t)v->offset;
  for (uint64_t n = 0; n < count; ++n) {
    memcpy(out + n * item, storage + position * item, item);
    for (size_t i = v->type.rank; i-- > 0;) {
      position += (uint64_t)v->strides[i];
      if (++at[i] < v->type.sizes[i]) break;
      position -= (uint64_t)v->strides[i] * (uint64_t)v->type.sizes[i];
      at[i] = 0;
    }
  }
}

static etx_status find_storage(etx_pt2_graph* graph, etx_text folder,
                               etx_text file, etx_bytes* out_bytes) {
  const etx_text name = etx_pool_format(graph->pool, "%t%t", folder, file);
  if (name.data == NULL) return ETX_OUT_OF_MEMORY;
  const etx_status status =
      etx_pt2_member_find(graph->archive, name, out_bytes, graph->diag);
  if (status != ETX_NOT_FOUND) return status;
  return etx_pt2_fail_malformed(graph, "the archive has no member '%t'", name);
}

// A view with strides of 0 has more elements than its storage. A model may do
// that, but a hostile file must not request all memory with a few bytes: beyond
// 256 MiB the expansion is limited to a factor of 4.
static bool is_expansion_allowed(const stored_view* v, uint64_t count,
                                 uint64_t storage) {
  const uint64_t largest = UINT64_C(256) << 20;
  uint64_t bytes = 0;
  return etx_multiply_u64(count, etx_dtype_bytes(v->type.dtype), &bytes) &&
         bytes <= SIZE_MAX && (bytes <= largest || bytes / 4 <= storage);
}

// Adds a constant whose elements are copied, unless it is there already.
static etx_status add_copy(etx_ir_module* module, etx_ir_constant constant,
                           uint32_t* out_constant) {
  if (etx_ir_find_constant(module, &constant, out_constant)) return ETX_OK;
  uint8_t* const copy = etx_pool_take(module->pool, constant.data.size);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(copy, constant.data.data, constant.data.size);
  constant.data.data = copy;
  return etx_ir_add_constant(module, &constant, out_constant);
}

// Dense elements are used where they lie in the archive, if they have the
// alignment of etx_pool_take, which kernels may expect.
static etx_status make_constant(etx_ir_module* module, const stored_view* v,
                                etx_bytes storage, uint64_t count,
                                uint32_t* out_constant) {
  const size_t item = etx_dtype_bytes(v->type.dtype);
  const size_t size = (size_t)count * item;
  etx_ir_constant constant = v->type;
  constant.data.size = size;
  if (count != 0) constant.data.data = storage.data + (size_t)v->offset * item;
  const bool is_aligned =
      (uintptr_t)constant.data.data % etx_pool_alignment(size) == 0;
  if (count == 0 || (is_dense(v) && is_aligned)) {
    return etx_ir_add_constant(module, &constant, out_constant);
  }
  if (is_dense(v)) return add_copy(module, constant, out_constant);
  etx_pool scratch;
  etx_pool_init(&scratch);
  uint8_t* const dense = etx_pool_take(&scratch, size);
  etx_status status = ETX_OUT_OF_MEMORY;
  if (dense != NULL) {
    gather(v, storage.data, item, count, dense);
    constant.data.data = dense;
    status = add_copy(module, constant, out_constant);
  }
  etx_pool_close(&scratch);
  return status;
}

etx_status etx_pt2_load(const etx_initial_source* source, etx_ir_module* module,
                        const etx_ir_constant* type, uint32_t* out_constant,
                        etx_diag* diag) {
  etx_pt2_graph graph = *(const etx_pt2_graph*)source->context;
  graph.diag = diag;
  etx_pt2_set_context(&graph, "stored tensor '%t'", source->name);
  const bool is_weight =
      etx_json_find(graph.weights, source->name) == source->item;
  stored_view v;
  uint64_t count = 0, extent = 0, bytes = 0;
  ETX_TRY(read_view(&graph, source->item, &v));
  if (!measure_view(&v, &count, &extent) ||
      !etx_multiply_u64(extent, etx_dtype_bytes(v.type.dtype), &bytes)) {
    return etx_pt2_fail_malformed(&graph, "the sizes overflow");
  }
  (void)type;  // it was read from this entry by etx_pt2_payload_type
  etx_bytes storage = {NULL, 0};
  if (count != 0) {
    ETX_TRY(find_storage(
        &graph, etx_text_of(is_weight ? "data/weights/" : "data/constants/"),
        v.path, &storage));
  }
  if (bytes > storage.size) {
    return etx_pt2_fail_malformed(
        &graph, "the tensor needs %u bytes of '%t', which has %z", bytes,
        v.path, storage.size);
  }
  if (!is_expansion_allowed(&v, count, storage.size)) {
    return etx_pt2_fail_unsupported(
        &graph, "the tensor expands %z bytes to %u elements, which is too many",
        storage.size, count);
  }
  return make_constant(module, &v, storage, count, out_constant);
}
