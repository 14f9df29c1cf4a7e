#include "runtime/kernels/quantized/packed_weights.h"

#include "runtime/kernels/core/convert.h"

float etx_packed_scale(const etx_packed_weights* p, size_t row, size_t group) {
  const size_t at = row * p->groups + group;
  if (p->params != NULL) {
    return ((const float*)(const void*)p->scales)[row] *
           (float)etx_group_factor(p->params[at]);
  }
  if (p->scale_dtype == ETX_DTYPE_FLOAT32) {
    return ((const float*)(const void*)p->scales)[at];
  }
  etx_block one;
  etx_block_load(&one, ETX_COMPUTE_F32, p->scale_dtype,
                 p->scales + at * etx_dtype_bytes(p->scale_dtype), 0, 1);
  return one.f32[0];
}

// The number of elements from `first` on with the same scale, at most `count`.
static size_t rest_of_group(const etx_packed_weights* p, size_t first,
                            size_t count) {
  const size_t rest = p->group - first % p->group;
  return rest < count ? rest : count;
}

static int32_t zero_point_of(const etx_packed_weights* p, size_t row,
                             size_t group) {
  return p->zeros == NULL ? 0 : p->zeros[row * p->groups + group];
}

static int32_t offset_of(const etx_packed_weights* p, size_t row,
                         size_t group) {
  return etx_group_offset(p->params[row * p->groups + group]);
}

// Elements of one group: (q - shift) * scale.
static void bytes_to_floats(const etx_packed_weights* p, const uint8_t* in,
                            size_t count, float shift, float scale,
                            float* out) {
  const int8_t* signed_in = (const int8_t*)in;
  if (p->dtype == ETX_DTYPE_INT8) {
    for (size_t i = 0; i < count; ++i) {
      out[i] = ((float)signed_in[i] - shift) * scale;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = ((float)in[i] - shift) * scale;
}

static void nibbles_to_floats(const uint8_t* in, size_t count, float shift,
                              float scale, float* even, float* odd) {
  for (size_t i = 0; i < count; ++i) {
    even[i] = ((float)(in[i] >> 4) - shift) * scale;
    odd[i] = ((float)(in[i] & 15) - shift) * scale;
  }
}

void etx_packed_floats(const etx_packed_weights* p, size_t row, size_t first,
                       size_t count, float* out) {
  const uint8_t* data = p->data + row * p->row_bytes;
  for (size_t done = 0; done < count;) {
    const size_t at = first + done;
    const size_t part = rest_of_group(p, at, count - done);
    const size_t group = at / p->group;
    const float zero = (float)zero_point_of(p, row, group);
    const float scale =
        etx_packed_has_row_scale(p) ? 1.0f : etx_packed_scale(p, row, group);
    if (p->params != NULL) {
      nibbles_to_floats(
          data + at / 2, part / 2,
          8.0f - (float)offset_of(p, row, group) / ETX_GROUP_PARTS,
          scale * ETX_GROUP_PARTS, out + done / 2, out + (count + done) / 2);
    } else if (p->bits == 8) {
      bytes_to_floats(p, data + at, part, zero, scale, out + done);
    } else {
      nibbles_to_floats(data + at / 2, part / 2, zero + 8.0f, scale,
                        out + done / 2, out + (count + done) / 2);
    }
    done += part;
  }
}

static void bytes_to_integers(const etx_packed_weights* p, const uint8_t* in,
                              size_t count, int32_t shift, int16_t* out) {
  const int8_t* signed_in = (const int8_t*)in;
  const int16_t by = (int16_t)shift;
  if (p->dtype == ETX_DTYPE_INT8) {
    for (size_t i = 0; i < count; ++i) out[i] = (int16_t)(signed_in[i] - by);
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = (int16_t)(in[i] - by);
}

static void nibbles_to_integers(const uint8_t* in, size_t count, int32_t shift,
                                int16_t* even, int16_t* odd) {
  const int16_t by = (int16_t)shift;
  for (size_t i = 0; i < count; ++i) {
    even[i] = (int16_t)((in[i] >> 4) - by);
    odd[i] = (int16_t)((in[i] & 15) - by);
  }
}

// Sixteen times the numbers plus the offset of the group.
static void add_offset(size_t count, int32_t offset, int16_t* even,
                       int16_t* odd) {
  for (size_t i = 0; i < count; ++i) {
    even[i] = (int16_t)(ETX_GROUP_PARTS * even[i] + offset);
    odd[i] = (int16_t)(ETX_GROUP_PARTS * odd[i] + offset);
  }
}

// Elements of one row of a panel.
static void panel_to_integers(const etx_packed_weights* p, size_t row,
                              size_t first, size_t count, int16_t* out) {
  enum { SIDE = ETX_PACKED_INTERLEAVE };
  const size_t lane = row % ETX_PACKED_PANEL;
  const int8_t* in = etx_packed_panel(p, row - lane, first) + lane * SIDE;
  for (size_t i = 0; i < count; ++i) {
    out[i] = in[i / SIDE * SIDE * ETX_PACKED_PANEL + i % SIDE];
  }
}

void etx_packed_integers(const etx_packed_weights* p, size_t row, size_t first,
                         size_t count, int16_t* out) {
  const uint8_t* data = p->data + row * p->row_bytes;
  if (p->has_panels) {
    panel_to_integers(p, row, first, count, out);
    return;
  }
  for (size_t done = 0; done < count;) {
    const size_t at = first + done;
    const size_t part = rest_of_group(p, at, count - done);
    const int32_t zero = zero_point_of(p, row, at / p->group);
    if (p->bits == 8) {
      bytes_to_integers(p, data + at, part, zero, out + done);
    } else {
      nibbles_to_integers(data + at / 2, part / 2, zero + 8, out + done / 2,
                          out + (count + done) / 2);
      if (p->params != NULL) {
        add_offset(part / 2, offset_of(p, row, at / p->group), out + done / 2,
                   out + (count + done) / 2);
      }
    }
    done += part;
  }
}

void etx_packed_deinterleave(const float* in, size_t count, float* out) {
  for (size_t i = 0; i < count / 2; ++i) {
    out[i] = in[2 * i];
    out[count / 2 + i] = in[2 * i + 1];
  }
}
