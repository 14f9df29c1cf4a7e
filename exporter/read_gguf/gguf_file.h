// GGUF files: the format of llama.cpp for named tensors and facts about a
// model.
//
//   "GGUF" | u32 version | u64 tensors | u64 pairs
//   pairs    key | u32 type | value
//   tensors  name | u32 rank | u64 sizes, innermost first | u32 type | u64
//   offset padding to the alignment | data
//
// Texts are a u64 length and bytes. Offsets count from the start of the data
// and are multiples of the alignment, which the pair general.alignment states
// (32 without it). Versions 2 and 3, little-endian. Source:
// docs/gguf.md of github.com/ggml-org/ggml.
//
// etx_gguf_open checks everything: after it, names are unique and each tensor's
// bytes lie in the file and overlap no other tensor's.

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_FILE_H
#define ETX_EXPORTER_READ_GGUF_GGUF_FILE_H

#include "exporter/host/host_memory.h"
#include "exporter/read_gguf/gguf_blocks.h"
#include "format/base/diag.h"

enum { ETX_GGUF_MOST_RANK = 4 };

typedef struct etx_gguf_tensor {
  etx_text name;              // in the file
  const etx_gguf_type* type;  // one that etx reads
  uint8_t rank;
  int64_t sizes[ETX_GGUF_MOST_RANK];  // as in PyTorch: the innermost last
  etx_bytes data;                     // in the file, maybe unaligned
} etx_gguf_tensor;

typedef struct etx_gguf_pair {
  etx_text key;
  uint32_t type;
  etx_bytes value;
} etx_gguf_pair;

typedef struct etx_gguf_file {
  etx_text path;
  etx_gguf_tensor* tensors;  // sorted by name
  size_t tensor_count;
  etx_gguf_pair* pairs;  // sorted by key
  size_t pair_count;
} etx_gguf_file;

// Opens a file's bytes in place: they must live as long as `file`, whose lists
// are in `pool`. ETX_BAD_FILE if the bytes are no valid file; ETX_UNSUPPORTED
// for other versions, the other byte order and types that etx does not read.
ETX_MUST_USE etx_status etx_gguf_open(etx_gguf_file* file, etx_pool* pool,
                                      etx_text path, etx_bytes bytes,
                                      etx_diag* diag);

// Adds the tensors of another file, which stays open as long. ETX_BAD_FILE if a
// name is there already.
ETX_MUST_USE etx_status etx_gguf_add(etx_gguf_file* file, etx_pool* pool,
                                     const etx_gguf_file* more, etx_diag* diag);

// The tensor of that name, or NULL.
const etx_gguf_tensor* etx_gguf_find(const etx_gguf_file* file, etx_text name);

// Reads a pair that is a text. False if there is none.
bool etx_gguf_text(const etx_gguf_file* file, etx_text key, etx_text* out_text);

// Reads a pair that is one integer that is not negative. False if there is
// none.
bool etx_gguf_number(const etx_gguf_file* file, etx_text key,
                     uint64_t* out_number);

#endif
