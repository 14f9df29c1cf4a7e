#include "exporter/read_gguf/gguf_names.h"

enum {
#define GGUF_ARCHITECTURE(symbol, name) NUMBER_OF_##symbol,
#include "exporter/read_gguf/gguf_architectures.def"
#undef GGUF_ARCHITECTURE
};

enum {
#define GGUF_ARCHITECTURE(symbol, name) symbol = 1 << NUMBER_OF_##symbol,
#include "exporter/read_gguf/gguf_architectures.def"
#undef GGUF_ARCHITECTURE
};

typedef struct architecture_name {
  uint32_t bit;
  const char* name;
} architecture_name;

static const architecture_name known[] = {
#define GGUF_ARCHITECTURE(symbol, name) {symbol, name},
#include "exporter/read_gguf/gguf_architectures.def"
#undef GGUF_ARCHITECTURE
};

static const etx_gguf_name names[] = {
#define GGUF_NAME(architectures, gguf, pytorch, change) \
  {architectures, gguf, pytorch, ETX_GGUF_##change},
#include "exporter/read_gguf/gguf_names.def"
#undef GGUF_NAME
};

// Tables that models of PyTorch compute from their configuration.
static const char* const computed[] = {"rope_freqs", "rope_factors_long",
                                       "rope_factors_short",
                                       "blk.#.attn_rot_embd"};

enum { NAME_COUNT = sizeof names / sizeof *names };

uint32_t etx_gguf_architecture(etx_text name) {
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (etx_text_is(name, known[i].name)) return known[i].bit;
  }
  return 0;
}

const char* etx_gguf_architecture_list(void) {
  static const char list[] =
#define GGUF_ARCHITECTURE(symbol, name) ", " name
#include "exporter/read_gguf/gguf_architectures.def"
#undef GGUF_ARCHITECTURE
      ;
  return list + 2;  // without the first comma
}

// ---------------------------------------------------------------- patterns

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where `text` continues after it matched `pattern`, in which # stands for a
// number; SIZE_MAX if it does not match. `out_number` is set if there is a #.
static size_t match(const char* pattern, etx_text text, etx_text* out_number) {
  size_t at = 0;
  for (; *pattern != '\0'; ++pattern) {
    if (*pattern != '#') {
      if (at == text.size || text.data[at++] != *pattern) return SIZE_MAX;
      continue;
    }
    const size_t start = at;
    while (at < text.size && is_digit(text.data[at])) ++at;
    if (at == start) return SIZE_MAX;
    *out_number = (etx_text){text.data + start, at - start};
  }
  return at;
}

// True if `text` is the pattern and then .weight or .bias, which is `out_end`.
static bool matches(const char* pattern, etx_text text, etx_text* out_number,
                    etx_text* out_end) {
  const size_t at = match(pattern, text, out_number);
  if (at == SIZE_MAX) return false;
  *out_end = (etx_text){text.data + at, text.size - at};
  return etx_text_is(*out_end, ".weight") || etx_text_is(*out_end, ".bias");
}

// The pattern with a number in place of #, and then `end`.
static etx_text fill(etx_pool* pool, const char* pattern, etx_text number,
                     etx_text end) {
  const char* const mark = strchr(pattern, '#');
  if (mark == NULL) return etx_pool_format(pool, "%s%t", pattern, end);
  const etx_text start = {pattern, (size_t)(mark - pattern)};
  return etx_pool_format(pool, "%t%t%s%t", start, number, mark + 1, end);
}

const etx_gguf_name* etx_gguf_name_find(uint32_t architecture,
                                        etx_text tensor) {
  etx_text number, end;
  for (size_t i = 0; i < NAME_COUNT; ++i) {
    if ((names[i].architectures & architecture) != 0 &&
        matches(names[i].gguf, tensor, &number, &end)) {
      return &names[i];
    }
  }
  return NULL;
}

bool etx_gguf_name_is_computed(etx_text tensor) {
  etx_text number, end;
  for (size_t i = 0; i < sizeof computed / sizeof *computed; ++i) {
    if (matches(computed[i], tensor, &number, &end)) return true;
  }
  return false;
}

etx_text etx_gguf_name_in_pytorch(etx_pool* pool, const etx_gguf_name* name,
                                  etx_text tensor) {
  etx_text number = {NULL, 0}, end = {NULL, 0};
  (void)matches(name->gguf, tensor, &number, &end);
  return fill(pool, name->pytorch, number, end);
}

bool etx_gguf_name_ends(etx_text whole, etx_text name) {
  if (whole.size < name.size) return false;
  const size_t before = whole.size - name.size;
  const etx_text end = {whole.data + before, name.size};
  return etx_text_equal(end, name) &&
         (before == 0 || whole.data[before - 1] == '.');
}

etx_text etx_gguf_name_of_pytorch(etx_pool* pool, uint32_t architecture,
                                  etx_text whole) {
  etx_text number = {NULL, 0}, end = {NULL, 0};
  for (size_t start = 0; start < whole.size; ++start) {
    if (start != 0 && whole.data[start - 1] != '.') continue;
    const etx_text part = {whole.data + start, whole.size - start};
    for (size_t i = 0; i < NAME_COUNT; ++i) {
      if ((names[i].architectures & architecture) == 0 ||
          !matches(names[i].pytorch, part, &number, &end)) {
        continue;
      }
      return fill(pool, names[i].gguf, number, end);
    }
  }
  return etx_text_of("");
}
