#include "tests/support/data_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/flatbuffers/fb_builder.h"

#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) table##_##field,
#define END(table)    \
  table##_FIELD_COUNT \
  }                   \
  ;
#include "format/ptd/ptd_schema.def"

enum {
  HEAD = 8,            // the root offset and the identifier of the FlatBuffer
  SPLICE_BYTES = 48,   // inserted behind them: the header, padded
  HEADER_LENGTH = 40,  // as the header states it
};

static void stop_unless(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "test data file: %s\n", what);
  abort();
}

static size_t align_up(size_t size) {
  return (size + TEST_DATA_ALIGNMENT - 1) / TEST_DATA_ALIGNMENT *
         TEST_DATA_ALIGNMENT;
}

static etx_fb_ref build_layout(etx_fb_builder* b, const test_datum* datum) {
  uint8_t order[ETX_MAX_RANK];
  const size_t rank = datum->sizes.rank;
  for (size_t i = 0; i < ETX_MAX_RANK; ++i) order[i] = (uint8_t)i;
  if (datum->dim_order != NULL) memcpy(order, datum->dim_order, rank);
  if (datum->has_no_layout) return 0;
  const etx_fb_ref dims = etx_fb_builder_vector(b, order, rank, 1, 1);
  const etx_fb_ref sizes =
      etx_fb_builder_vector(b, datum->sizes.at, rank, sizeof(int32_t), 4);
  etx_fb_builder_start(b);
  etx_fb_builder_add_i8(b, TensorLayout_scalar_type, (int8_t)datum->dtype, 0);
  etx_fb_builder_add_ref(b, TensorLayout_sizes, sizes);
  etx_fb_builder_add_ref(b, TensorLayout_dim_order, dims);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_names(etx_fb_builder* b, const test_datum* data,
                              size_t count) {
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    const etx_fb_ref key = etx_fb_builder_string(b, etx_text_of(data[i].key));
    const etx_fb_ref layout = build_layout(b, &data[i]);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, NamedData_key, key);
    etx_fb_builder_add_u32(b, NamedData_segment_index, (uint32_t)i, 0);
    etx_fb_builder_add_ref(b, NamedData_tensor_layout, layout);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

static etx_fb_ref build_segments(etx_fb_builder* b, const test_datum* data,
                                 size_t count) {
  size_t end = 0;
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    etx_fb_builder_start(b);
    etx_fb_builder_add_u64(b, DataSegment_offset, end, 0);
    etx_fb_builder_add_u64(b, DataSegment_size, data[i].bytes, 0);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
    end = align_up(end + data[i].bytes);
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

static etx_bytes_mut build(uint8_t* block, size_t size, const test_datum* data,
                           size_t count) {
  etx_fb_builder b;
  etx_bytes_mut flat = {NULL, 0};
  const etx_bytes_mut room = {block, size};
  etx_fb_builder_init(&b, room);
  const etx_fb_ref names = build_names(&b, data, count);
  const etx_fb_ref segments = build_segments(&b, data, count);
  etx_fb_builder_start(&b);
  etx_fb_builder_add_ref(&b, FlatTensor_named_data, names);
  etx_fb_builder_add_ref(&b, FlatTensor_segments, segments);
  const etx_fb_ref root = etx_fb_builder_end(&b);
  stop_unless(etx_fb_builder_finish(&b, root, "FT01", &flat) == ETX_OK,
              "too many entries");
  return flat;
}

static void put_u64(uint8_t* at, uint64_t value) {
  memcpy(at, &value, sizeof value);
}

etx_bytes_mut test_data_file(test_data_block* block, const test_datum* data,
                             size_t count) {
  _Alignas(16) uint8_t room[TEST_DATA_FILE_BYTES / 2];
  uint8_t* const out = block->bytes;
  const etx_bytes_mut flat = build(room, sizeof room, data, count);
  const size_t base = align_up(flat.size + SPLICE_BYTES);
  size_t end = 0;
  memset(out, 0, sizeof block->bytes);
  memcpy(out, flat.data, HEAD);
  memcpy(out + HEAD + SPLICE_BYTES, flat.data + HEAD, flat.size - HEAD);
  uint32_t number = 0;
  memcpy(&number, out, sizeof number);
  number += SPLICE_BYTES;
  memcpy(out, &number, sizeof number);
  memcpy(out + HEAD, "FH01", 4);
  number = HEADER_LENGTH;
  memcpy(out + HEAD + 4, &number, sizeof number);
  put_u64(out + HEAD + 8, SPLICE_BYTES);
  put_u64(out + HEAD + 16, flat.size);
  put_u64(out + HEAD + 24, base);
  for (size_t i = 0; i < count; ++i) {
    end = align_up(end);
    stop_unless(base + end + data[i].bytes <= sizeof block->bytes,
                "too many bytes");
    if (data[i].bytes > 0)
      memcpy(out + base + end, data[i].data, data[i].bytes);
    end += data[i].bytes;
  }
  put_u64(out + HEAD + 32, end);
  return (etx_bytes_mut){out, base + end};
}
