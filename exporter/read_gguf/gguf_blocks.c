#include "exporter/read_gguf/gguf_blocks.h"

#include "exporter/host/half_bits.h"

enum { SMALL = 32, LARGE = 256 };  // elements of a block

static void expand_f32(const uint8_t* blocks, size_t count, float* out) {
  memcpy(out, blocks, count * sizeof *out);
}

static void expand_f16(const uint8_t* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_from_float16(blocks + 2 * i);
}

static void expand_bf16(const uint8_t* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_from_bfloat16(blocks + 2 * i);
}

// ------------------------------------------------ blocks of 32

// float16 d | 32 int8
static void expand_q8_0(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 34 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks);
    for (size_t i = 0; i < SMALL; ++i)
      *out++ = (float)(int8_t)blocks[2 + i] * d;
  }
}

// Byte i of `low` has bits 0 to 3 of elements i and 16 + i.
static int nibble_of(const uint8_t* low, size_t i) {
  return i < SMALL / 2 ? low[i] & 15 : low[i - SMALL / 2] >> 4;
}

// float16 d | 16 bytes of nibbles
static void expand_q4_0(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 18 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks);
    for (size_t i = 0; i < SMALL; ++i) {
      *out++ = d * (float)(nibble_of(blocks + 2, i) - 8);
    }
  }
}

// float16 d | float16 m | 16 bytes of nibbles
static void expand_q4_1(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 20 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks);
    const float m = etx_from_float16(blocks + 2);
    for (size_t i = 0; i < SMALL; ++i) {
      *out++ = d * (float)nibble_of(blocks + 4, i) + m;
    }
  }
}

// Bit i of the little-endian `high` is bit 4 of element i.
static int five_bits_of(const uint8_t* high, const uint8_t* low, size_t i) {
  return nibble_of(low, i) | (high[i / 8] >> i % 8 & 1) << 4;
}

// float16 d | 4 bytes of high bits | 16 bytes of nibbles
static void expand_q5_0(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 22 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks);
    for (size_t i = 0; i < SMALL; ++i) {
      *out++ = d * (float)(five_bits_of(blocks + 2, blocks + 6, i) - 16);
    }
  }
}

// float16 d | float16 m | 4 bytes of high bits | 16 bytes of nibbles
static void expand_q5_1(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 24 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks);
    const float m = etx_from_float16(blocks + 2);
    for (size_t i = 0; i < SMALL; ++i) {
      *out++ = d * (float)five_bits_of(blocks + 4, blocks + 8, i) + m;
    }
  }
}

// ------------------------------------------------ blocks of 256

// 16 bytes of scales (low) and minima (high nibble) | 64 bytes with 2 bits of
// four elements | float16 d | float16 dmin
static void expand_q2_k(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 84, QUANTS = 16, D = 80, D_MIN = 82, GROUP = 16 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks + D);
    const float least = etx_from_float16(blocks + D_MIN);
    for (size_t i = 0; i < LARGE; ++i) {
      const uint8_t pair = blocks[i / GROUP];
      const uint8_t four = blocks[QUANTS + i / 128 * 32 + i % 32];
      const float scale = d * (float)(pair & 15);
      *out++ = scale * (float)(four >> i % 128 / 32 * 2 & 3) -
               least * (float)(pair >> 4);
    }
  }
}

// The 6-bit scale of group g in 0..15: bits 0 to 3 are nibbles of bytes 0 to 7,
// bits 4 and 5 are pairs of bits of bytes 8 to 11.
static int q3_scale(const uint8_t* scales, size_t g) {
  const int low = scales[g % 8] >> g / 8 * 4 & 15;
  return low | (scales[8 + g % 4] >> g / 4 * 2 & 3) << 4;
}

// 32 bytes with bit 2 of eight elements | 64 bytes with bits 0 and 1 of four |
// 12 bytes of scales | float16 d
static void expand_q3_k(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 110, QUANTS = 32, SCALES = 96, D = 108, GROUP = 16 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks + D);
    for (size_t i = 0; i < LARGE; ++i) {
      const uint8_t four = blocks[QUANTS + i / 128 * 32 + i % 32];
      const int low = four >> i % 128 / 32 * 2 & 3;
      const int high = blocks[i % 32] >> i / 32 & 1;
      const float scale =
          d * (float)(q3_scale(blocks + SCALES, i / GROUP) - 32);
      *out++ = scale * (float)(low - (high != 0 ? 0 : 4));
    }
  }
}

// The 6-bit scale and minimum of group g in 0..7, from 12 bytes: bytes 0 to 3
// have the scales of groups 0 to 3, bytes 4 to 7 their minima, both with bits 4
// and 5 of the later groups on top; bytes 8 to 11 have the nibbles of these.
static void q4_scales(const uint8_t* bytes, size_t g, float* scale, float* m) {
  if (g < 4) {
    *scale = (float)(bytes[g] & 63);
    *m = (float)(bytes[g + 4] & 63);
    return;
  }
  *scale = (float)((bytes[g + 4] & 15) | (bytes[g - 4] >> 6) << 4);
  *m = (float)(bytes[g + 4] >> 4 | (bytes[g] >> 6) << 4);
}

// float16 d | float16 dmin | 12 bytes of scales | (q5_K: 32 bytes with bit 4 of
// eight elements) | 128 bytes with nibbles of two elements
static void expand_q4_or_q5_k(const uint8_t* block, const uint8_t* high,
                              const uint8_t* low, float* out) {
  const float d = etx_from_float16(block);
  const float least = etx_from_float16(block + 2);
  for (size_t g = 0; g < LARGE / SMALL; ++g) {
    float scale = 0, m = 0;
    q4_scales(block + 4, g, &scale, &m);
    scale = d * scale;
    m = least * m;
    for (size_t i = 0; i < SMALL; ++i) {
      int q = low[g / 2 * SMALL + i] >> g % 2 * 4 & 15;
      if (high != NULL) q |= (high[i] >> g & 1) << 4;
      *out++ = scale * (float)q - m;
    }
  }
}

static void expand_q4_k(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 144, QUANTS = 16 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES, out += LARGE) {
    expand_q4_or_q5_k(blocks, NULL, blocks + QUANTS, out);
  }
}

static void expand_q5_k(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 176, HIGH = 16, QUANTS = 48 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES, out += LARGE) {
    expand_q4_or_q5_k(blocks, blocks + HIGH, blocks + QUANTS, out);
  }
}

// 128 bytes with nibbles of two elements | 64 bytes with bits 4 and 5 of four |
// 16 int8 scales | float16 d
static void expand_q6_k(const uint8_t* blocks, size_t count, float* out) {
  enum { BYTES = 210, HIGH = 128, SCALES = 192, D = 208, GROUP = 16 };
  for (size_t b = 0; b < count; ++b, blocks += BYTES) {
    const float d = etx_from_float16(blocks + D);
    for (size_t i = 0; i < LARGE; ++i) {
      const size_t half = i / 128, at = i % 128;
      const int low = blocks[half * 64 + at % 64] >> at / 64 * 4 & 15;
      const int high = blocks[HIGH + half * 32 + at % 32] >> at / 32 * 2 & 3;
      const float scale = d * (float)(int8_t)blocks[SCALES + i / GROUP];
      *out++ = scale * (float)((low | high << 4) - 32);
    }
  }
}

// ------------------------------------------------ types

static const etx_gguf_type types[] = {
#define GGUF_TYPE(number, name, elements, bytes, expand) \
  {number, name, elements, bytes, expand},
#define GGUF_UNREAD(number, name) {number, name, 1, 1, NULL},
#include "exporter/read_gguf/gguf_types.def"
#undef GGUF_TYPE
#undef GGUF_UNREAD
};

const etx_gguf_type* etx_gguf_type_find(uint32_t number) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (types[i].number == number) return &types[i];
  }
  return NULL;
}
