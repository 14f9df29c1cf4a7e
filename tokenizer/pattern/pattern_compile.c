// Reads a pattern once from left to right. Groups that are open lie on a stack
// of fixed depth; a choice or repetition of what was written already is put
// before it by moving it, which is possible since all places are relative.

#include "tokenizer/pattern/pattern.h"
#include "tokenizer/pattern/pattern_code.h"
#include "tokenizer/unicode/unicode.h"

enum { GROUP_DEPTH_MAX = 32, REPEAT_MAX = 1000 };

// A group that is open.
typedef struct group {
  size_t begin;        // its first instruction
  size_t alternative;  // first instruction of the present alternative
  size_t jumps;        // 1 + the last jump to its end, linked by `second`; or 0
  bool inner;        // a look or an atomic group: has an instruction before it
  bool ignore_case;  // as it was before
  size_t least;      // characters of its shortest alternative so far
  size_t here;       // characters of the present alternative at least
} group;

typedef struct compiler {
  etx_text text;
  size_t at;
  etx_pattern* out;
  size_t code_limit, set_limit, range_limit;
  group groups[GROUP_DEPTH_MAX];
  size_t depth;
  bool ignore_case;
  size_t atom;        // first instruction of the last atom
  size_t atom_least;  // characters that it takes at least
  bool has_atom;
  etx_diag* diag;
} compiler;

// Instructions for a pattern of `size` bytes; a repetition may copy a group.
static size_t code_bound(size_t size) {
  const size_t bound = 64 + 8 * size;
  return bound < ETX_PATTERN_CODE_MAX ? bound : ETX_PATTERN_CODE_MAX;
}

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

static size_t set_bound(size_t size) {
  return least_of(size + 2, ETX_PATTERN_SETS_MAX);
}

static size_t range_bound(size_t size) {
  return least_of(2 * size + 2, ETX_PATTERN_RANGES_MAX);
}

size_t etx_pattern_bound(size_t size) {
  return code_bound(size) * sizeof(etx_pattern_code) +
         set_bound(size) * sizeof(etx_pattern_set) +
         range_bound(size) * sizeof(etx_pattern_range) + 64;
}

static etx_status refuse(const compiler* c, const char* what) {
  return etx_diag_fail_at(c->diag, ETX_UNSUPPORTED, c->at,
                          "pattern '%t': %s at byte %z", c->text, what, c->at);
}

static bool more(const compiler* c) { return c->at < c->text.size; }

static bool is(const compiler* c, const char* text) {
  const size_t size = strlen(text);
  return c->text.size - c->at >= size &&
         memcmp(c->text.data + c->at, text, size) == 0;
}

static bool skip(compiler* c, const char* text) {
  if (!is(c, text)) return false;
  c->at += strlen(text);
  return true;
}

// Makes room for an instruction at `place`; what follows moves.
static etx_pattern_code* insert(compiler* c, size_t place, uint8_t kind) {
  etx_pattern_code* const code = c->out->code;
  if (c->out->code_count == c->code_limit) return NULL;
  memmove(&code[place + 1], &code[place],
          (c->out->code_count - place) * sizeof *code);
  ++c->out->code_count;
  memset(&code[place], 0, sizeof *code);
  code[place].kind = kind;
  return &code[place];
}

static etx_status too_long(const compiler* c) {
  return refuse(c, "the pattern is too long");
}

// ---- sets ----

static etx_status new_set(compiler* c, etx_pattern_set** out) {
  etx_pattern* const p = c->out;
  if (p->set_count == c->set_limit) return too_long(c);
  etx_pattern_set* const set = &p->sets[p->set_count++];
  memset(set, 0, sizeof *set);
  set->range_first = (uint16_t)p->range_count;
  *out = set;
  return ETX_OK;
}

static etx_status add_range(compiler* c, etx_pattern_set* set, uint32_t first,
                            uint32_t last) {
  etx_pattern* const p = c->out;
  if (p->range_count == c->range_limit) return too_long(c);
  p->ranges[p->range_count++] = (etx_pattern_range){first, last};
  ++set->range_count;
  return ETX_OK;
}

static bool is_letter(uint32_t code) {
  const uint32_t lower = code | 0x20;
  return code < 128 && lower >= 'a' && lower <= 'z';
}

// Adds what a letter is without its case. U+017F folds to s, U+212A to k.
static etx_status add_folded(compiler* c, etx_pattern_set* set, uint32_t code) {
  if (code >= 128) {
    return refuse(c, "only ASCII letters are supported where case is ignored,");
  }
  etx_status status = add_range(c, set, code, code);
  if (!is_letter(code)) return status;
  const uint32_t lower = code | 0x20;
  if (status == ETX_OK) status = add_range(c, set, code ^ 0x20, code ^ 0x20);
  if (status == ETX_OK && lower == 's')
    status = add_range(c, set, 0x17F, 0x17F);
  if (status == ETX_OK && lower == 'k')
    status = add_range(c, set, 0x212A, 0x212A);
  return status;
}

static void add_property(etx_pattern_set* set, uint32_t categories,
                         uint32_t flag, bool lacking) {
  if (flag == 0) {
    const uint32_t all = (1u << ETX_CATEGORY_COUNT) - 1;
    set->categories |= lacking ? all & ~categories : categories;
  } else if (lacking) {
    set->lacks |= flag;
  } else {
    set->flags |= flag;
  }
}

// Categories of a name such as L or Lu, 0 if there is none.
static uint32_t categories_of(etx_text name) {
  static const char names[] =
      "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn";
  uint32_t found = 0;
  for (uint32_t i = 0; i < ETX_CATEGORY_COUNT; ++i) {
    const char* const known = &names[2 * i];
    if ((name.size == 2 && memcmp(name.data, known, 2) == 0) ||
        (name.size == 1 && name.data[0] == known[0])) {
      found |= 1u << i;
    }
  }
  return found;
}

// \p{..}; `at` is behind the p.
static etx_status read_property(compiler* c, etx_pattern_set* set,
                                bool lacking) {
  static const struct {
    const char* name;
    const char* category;
  } longer[] = {{"Letter", "L"},      {"Mark", "M"},   {"Number", "N"},
                {"Punctuation", "P"}, {"Symbol", "S"}, {"Separator", "Z"},
                {"Punct", "P"},       {"Other", "C"}};
  if (!skip(c, "{")) return refuse(c, "expected '{' behind \\p");
  if (skip(c, "^")) lacking = !lacking;
  etx_text name = {c->text.data + c->at, 0};
  while (c->at + name.size < c->text.size && name.data[name.size] != '}')
    ++name.size;
  for (size_t i = 0; i < sizeof longer / sizeof longer[0]; ++i) {
    if (etx_text_is(name, longer[i].name)) {
      const size_t size = name.size;
      const uint32_t found = categories_of(etx_text_of(longer[i].category));
      add_property(set, found, 0, lacking);
      c->at += size + 1;
      return ETX_OK;
    }
  }
  const uint32_t found = categories_of(name);
  if (found == 0 || c->at + name.size == c->text.size) {
    return refuse(c, "\\p of something that is no general category");
  }
  add_property(set, found, 0, lacking);
  c->at += name.size + 1;
  return ETX_OK;
}

// A character behind a backslash that stands for one character.
static etx_status read_code(compiler* c, uint32_t* out) {
  static const char letters[] = "ntrfvae";
  static const uint8_t codes[] = {10, 9, 13, 12, 11, 7, 27};
  const size_t size = etx_utf8_read((const uint8_t*)c->text.data + c->at,
                                    c->text.size - c->at, out);
  for (size_t i = 0; i < sizeof codes; ++i) {
    if (*out == (uint8_t)letters[i]) {
      *out = codes[i];
      ++c->at;
      return ETX_OK;
    }
  }
  if (*out == 'x' || *out == 'u') {
    const bool braces = is(c, "x{");
    size_t digits = *out == 'u' ? 4 : 2;
    c->at += braces ? 2 : 1;
    if (braces) digits = 8;
    uint32_t code = 0;
    size_t count = 0;
    for (; count < digits && more(c); ++count, ++c->at) {
      const char d = c->text.data[c->at];
      const uint32_t lower = (uint32_t)d | 0x20;
      if (d >= '0' && d <= '9') {
        code = code * 16 + (uint32_t)(d - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + lower - 'a' + 10;
      } else {
        break;
      }
    }
    if (count == 0 || code >= 0x110000 || (braces && !skip(c, "}"))) {
      return refuse(c, "no hexadecimal code point");
    }
    *out = code;
    return ETX_OK;
  }
  if (is_letter(*out) || (*out >= '0' && *out <= '9')) {
    return refuse(c, "this escape is not supported,");
  }
  c->at += size;
  return ETX_OK;
}

// An escape behind its backslash: a class is added to the set, and *out_class
// is true; else *out_code is its character.
static etx_status read_escape(compiler* c, etx_pattern_set* set,
                              bool* out_class, uint32_t* out_code) {
  *out_class = true;
  if (!more(c)) return refuse(c, "nothing behind the backslash");
  const char kind = c->text.data[c->at];
  const bool lacking = kind >= 'A' && kind <= 'Z';
  const char lower = (char)(kind | 0x20);
  if (lower == 'p') {
    ++c->at;
    return read_property(c, set, lacking);
  }
  if (lower == 's' || lower == 'w') {
    ++c->at;
    add_property(set, 0, lower == 's' ? ETX_UNICODE_SPACE : ETX_UNICODE_WORD,
                 lacking);
    return ETX_OK;
  }
  if (lower == 'd') {
    ++c->at;
    add_property(set, 1u << ETX_CATEGORY_ND, 0, lacking);
    return ETX_OK;
  }
  *out_class = false;
  return read_code(c, out_code);
}

static bool outside_ascii(const etx_pattern* p, const etx_pattern_set* set,
                          uint32_t code) {
  const uint32_t kind = etx_unicode_kind_of(code);
  bool has = (set->categories >> (kind & ETX_UNICODE_CATEGORY_MASK) & 1) != 0 ||
             (kind & set->flags) != 0 || (~kind & set->lacks) != 0;
  for (size_t i = 0; i < set->range_count; ++i) {
    const etx_pattern_range range = p->ranges[set->range_first + i];
    has = has || (code >= range.first && code <= range.last);
  }
  return has != set->negated;
}

static void finish_set(compiler* c, etx_pattern_set* set) {
  for (uint32_t code = 0; code < 128; ++code) {
    if (outside_ascii(c->out, set, code))
      set->ascii[code >> 5] |= 1u << (code & 31);
  }
}

static etx_status add_code(compiler* c, etx_pattern_set* set, uint32_t first,
                           uint32_t last) {
  if (!c->ignore_case) return add_range(c, set, first, last);
  if (first == last) return add_folded(c, set, first);
  for (uint32_t code = first; code <= last; ++code) {
    const etx_status status = add_folded(c, set, code);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

// One character of a class, or a range or an escape.
static etx_status read_class_part(compiler* c, etx_pattern_set* set) {
  uint32_t first = 0, last = 0;
  bool is_class = false;
  if (skip(c, "\\")) {
    const etx_status status = read_escape(c, set, &is_class, &first);
    if (status != ETX_OK || is_class) return status;
  } else {
    if (is(c, "&&")) return refuse(c, "an intersection of classes");
    c->at += etx_utf8_read((const uint8_t*)c->text.data + c->at,
                           c->text.size - c->at, &first);
  }
  last = first;
  if (is(c, "-") && !is(c, "-]") && c->at + 1 < c->text.size) {
    ++c->at;
    if (skip(c, "\\")) {
      const etx_status status = read_escape(c, set, &is_class, &last);
      if (status != ETX_OK) return status;
      if (is_class) return refuse(c, "a range that ends with a class");
    } else {
      if (is(c, "[")) return refuse(c, "a range that ends with a class");
      c->at += etx_utf8_read((const uint8_t*)c->text.data + c->at,
                             c->text.size - c->at, &last);
    }
  }
  if (last < first) return refuse(c, "a range that ends before it begins");
  return add_code(c, set, first, last);
}

// [..]; `at` is behind the bracket. A class within a class adds its characters.
static etx_status read_class(compiler* c, etx_pattern_set* set) {
  set->negated = skip(c, "^");
  bool first = true;
  size_t depth = 1;
  while (more(c)) {
    if (!first && skip(c, "]")) {
      if (--depth == 0) return ETX_OK;
      continue;
    }
    if (is(c, "[^") || is(c, "[:")) {
      return refuse(c, "a negated or named class within a class");
    }
    first = skip(c, "[");
    if (first) {
      ++depth;
    } else {
      ETX_TRY(read_class_part(c, set));
    }
  }
  return refuse(c, "']' is missing");
}

static etx_status emit_set(compiler* c, const etx_pattern_set* set) {
  etx_pattern_code* const code = insert(c, c->out->code_count, ETX_PATTERN_SET);
  if (code == NULL) return too_long(c);
  code->set = (uint16_t)(set - c->out->sets);
  code->least = code->most = 1;
  code->mode = ETX_PATTERN_POSSESSIVE;
  c->atom = c->out->code_count - 1;
  c->atom_least = 1;
  c->has_atom = true;
  return ETX_OK;
}

static etx_status emit_assertion(compiler* c, uint8_t kind) {
  c->has_atom = false;
  return insert(c, c->out->code_count, kind) == NULL ? too_long(c) : ETX_OK;
}

// ---- groups ----

static etx_status open_group(compiler* c) {
  uint8_t inner = 0;
  const bool before = c->ignore_case;
  if (skip(c, "?")) {
    if (skip(c, "=")) {
      inner = ETX_PATTERN_LOOK;
    } else if (skip(c, "!")) {
      inner = ETX_PATTERN_LOOK_NOT;
    } else if (skip(c, ">")) {
      inner = ETX_PATTERN_ATOMIC;
    } else if (skip(c, "i:")) {
      c->ignore_case = true;
    } else if (!skip(c, ":")) {
      return refuse(c, "this kind of group is not supported,");
    }
  }
  if (c->depth == GROUP_DEPTH_MAX)
    return refuse(c, "more than 32 groups in each other");
  group* const g = &c->groups[c->depth++];
  memset(g, 0, sizeof *g);
  g->begin = c->out->code_count;
  g->inner = inner != 0;
  g->ignore_case = before;
  g->least = SIZE_MAX;
  if (inner != 0 && insert(c, c->out->code_count, inner) == NULL)
    return too_long(c);
  g->alternative = c->out->code_count;
  c->has_atom = false;
  return ETX_OK;
}

static void add_least(compiler* c, size_t count) {
  size_t* const here = &c->groups[c->depth - 1].here;
  *here = *here + count < *here ? SIZE_MAX : *here + count;
}

static etx_status next_alternative(compiler* c) {
  group* const g = &c->groups[c->depth - 1];
  etx_pattern_code* const split = insert(c, g->alternative, ETX_PATTERN_SPLIT);
  etx_pattern_code* const jump =
      insert(c, c->out->code_count, ETX_PATTERN_JUMP);
  if (split == NULL || jump == NULL) return too_long(c);
  split->first = 1;
  split->second = (int32_t)(c->out->code_count - g->alternative);
  jump->second = (int32_t)g->jumps;
  g->jumps = c->out->code_count;
  g->alternative = c->out->code_count;
  g->least = least_of(g->least, g->here);
  g->here = 0;
  c->has_atom = false;
  return ETX_OK;
}

// Sends the jumps behind the alternatives to the end.
static void close_alternatives(compiler* c, group* g) {
  for (size_t jump = g->jumps; jump != 0;) {
    etx_pattern_code* const code = &c->out->code[jump - 1];
    const size_t next = (size_t)code->second;
    code->first = (int32_t)(c->out->code_count - (jump - 1));
    code->second = 0;
    jump = next;
  }
  g->least = least_of(g->least, g->here);
}

static etx_status close_group(compiler* c) {
  if (c->depth == 1) return refuse(c, "')' without '('");
  group* const g = &c->groups[c->depth - 1];
  close_alternatives(c, g);
  bool look = false;
  if (g->inner) {
    look = c->out->code[g->begin].kind != ETX_PATTERN_ATOMIC;
    if (insert(c, c->out->code_count, ETX_PATTERN_END_INNER) == NULL)
      return too_long(c);
    c->out->code[g->begin].first = (int32_t)(c->out->code_count - g->begin);
  }
  c->atom = g->begin;
  c->atom_least = look ? 0 : g->least;
  c->has_atom = !look;
  c->ignore_case = g->ignore_case;
  --c->depth;
  add_least(c, c->atom_least);
  return ETX_OK;
}

// ---- quantifiers ----

// {n,m}: false if it is no quantifier.
static bool read_counts(compiler* c, uint32_t* least, uint32_t* most) {
  size_t at = c->at + 1;
  uint32_t numbers[2] = {0, 0};
  bool written[2] = {false, false}, comma = false;
  for (; at < c->text.size && c->text.data[at] != '}'; ++at) {
    const char d = c->text.data[at];
    if (d == ',' && !comma) {
      comma = true;
    } else if (d >= '0' && d <= '9' && numbers[comma] < 100000) {
      numbers[comma] = numbers[comma] * 10 + (uint32_t)(d - '0');
      written[comma] = true;
    } else {
      return false;
    }
  }
  if (at == c->text.size || (!written[0] && !written[1])) return false;
  *least = numbers[0];
  *most = comma ? (written[1] ? numbers[1] : UINT32_MAX) : numbers[0];
  c->at = at + 1;
  return true;
}

static bool read_quantifier(compiler* c, uint32_t* least, uint32_t* most,
                            uint8_t* mode) {
  bool interval = false;
  *least = is(c, "+") ? 1 : 0;
  *most = is(c, "?") ? 1 : UINT32_MAX;
  if (is(c, "{")) {
    if (!read_counts(c, least, most)) return false;
    interval = true;
  } else if (!skip(c, "?") && !skip(c, "*") && !skip(c, "+")) {
    return false;
  }
  *mode = ETX_PATTERN_GREEDY;
  if (skip(c, "?")) {
    *mode = ETX_PATTERN_LAZY;
  } else if (!interval && skip(c, "+")) {
    *mode = ETX_PATTERN_POSSESSIVE;
  }
  return true;
}

// Appends a copy of `count` instructions of the atom.
static bool copy_code(compiler* c, size_t from, size_t count) {
  if (c->code_limit - c->out->code_count < count) return false;
  memcpy(&c->out->code[c->out->code_count], &c->out->code[from],
         count * sizeof *c->out->code);
  c->out->code_count += count;
  return true;
}

static bool put_split(compiler* c, size_t place, bool lazy, int32_t inside,
                      int32_t outside) {
  etx_pattern_code* const split = insert(c, place, ETX_PATTERN_SPLIT);
  if (split == NULL) return false;
  split->first = lazy ? outside : inside;
  split->second = lazy ? inside : outside;
  return true;
}

// Repeats the `size` instructions at the end: first `least` copies, then copies
// that may be left out, or a loop.
static bool repeat_code(compiler* c, size_t size, uint32_t least, uint32_t most,
                        bool lazy) {
  const size_t from = c->atom;
  for (uint32_t i = 1; i < least; ++i) {
    if (!copy_code(c, from, size)) return false;
  }
  const int32_t length = (int32_t)size;
  if (most == UINT32_MAX && least > 0) {
    const size_t end = c->out->code_count;
    return put_split(c, end, lazy, -length, 1);
  }
  if (most == UINT32_MAX) {
    etx_pattern_code* const jump =
        insert(c, c->out->code_count, ETX_PATTERN_JUMP);
    if (jump == NULL || !put_split(c, from, lazy, 1, length + 2)) return false;
    c->out->code[c->out->code_count - 1].first = -(length + 1);
    return true;
  }
  // The copies that may be left out: each split skips all that follow.
  const uint32_t extra = most - least;
  for (uint32_t i = 0; i < extra; ++i) {
    const bool first = least == 0 && i == 0;
    const size_t source = least == 0 && i > 0 ? from + 1 : from;
    const size_t place = first ? from : c->out->code_count;
    if (!first && !copy_code(c, source, size)) return false;
    const int32_t rest = (int32_t)(extra - i) * (length + 1);
    if (!put_split(c, place, lazy, 1, rest)) return false;
  }
  return true;
}

static etx_status repeat_set(compiler* c, uint32_t least, uint32_t most,
                             uint8_t mode) {
  etx_pattern_code* const code = &c->out->code[c->atom];
  code->least = least;
  code->most = most;
  code->mode = mode;
  return ETX_OK;
}

static etx_status quantify(compiler* c) {
  const size_t where = c->at;
  uint32_t least = 0, most = 0;
  uint8_t mode = 0;
  if (!read_quantifier(c, &least, &most, &mode)) return ETX_NOT_FOUND;
  size_t* const here = &c->groups[c->depth - 1].here;
  if (!c->has_atom) {
    c->at = where;
    return refuse(c, "nothing to repeat");
  }
  if (most < least || (most != UINT32_MAX && most > REPEAT_MAX && most > 1) ||
      least > REPEAT_MAX) {
    c->at = where;
    return refuse(c, "a count that is too large or out of order");
  }
  if (most == 0) {
    c->at = where;
    return refuse(c, "a repetition of zero times");
  }
  const size_t size = c->out->code_count - c->atom;
  const etx_pattern_code* const code = &c->out->code[c->atom];
  const size_t old_least = c->atom_least;
  etx_status status = ETX_OK;
  if (size == 1 && code->kind == ETX_PATTERN_SET && code->least == 1 &&
      code->most == 1) {
    status = repeat_set(c, least, most, mode);
  } else {
    if (c->atom_least == 0 && most == UINT32_MAX) {
      c->at = where;
      return refuse(c, "a repetition of what can be empty");
    }
    const bool atomic = mode == ETX_PATTERN_POSSESSIVE;
    bool fits = repeat_code(c, size, least, most, mode == ETX_PATTERN_LAZY);
    if (fits && atomic) {
      const size_t length = c->out->code_count - c->atom;
      etx_pattern_code* const begin = insert(c, c->atom, ETX_PATTERN_ATOMIC);
      fits = begin != NULL;
      if (fits) begin->first = (int32_t)length + 2;
      fits =
          fits && insert(c, c->out->code_count, ETX_PATTERN_END_INNER) != NULL;
    }
    if (!fits) return too_long(c);
  }
  if (status == ETX_OK) {
    c->atom_least = least == 0 ? 0 : old_least;
    if (*here >= old_least) *here -= old_least;
    add_least(c, c->atom_least);
  }
  return status;
}

// ---- the pattern ----

static etx_status read_backslash(compiler* c) {
  static const struct {
    const char* text;
    uint8_t kind;
  } assertions[] = {{"A", ETX_PATTERN_TEXT_BEGIN},
                    {"z", ETX_PATTERN_TEXT_END},
                    {"Z", ETX_PATTERN_TEXT_END_LINE},
                    {"b", ETX_PATTERN_EDGE},
                    {"B", ETX_PATTERN_NO_EDGE}};
  for (size_t i = 0; i < sizeof assertions / sizeof assertions[0]; ++i) {
    if (skip(c, assertions[i].text))
      return emit_assertion(c, assertions[i].kind);
  }
  etx_pattern_set* set = NULL;
  bool is_class = false;
  uint32_t code = 0;
  etx_status status = new_set(c, &set);
  if (status == ETX_OK) status = read_escape(c, set, &is_class, &code);
  if (status == ETX_OK && !is_class) status = add_code(c, set, code, code);
  if (status != ETX_OK) return status;
  finish_set(c, set);
  add_least(c, 1);
  return emit_set(c, set);
}

static etx_status read_character(compiler* c) {
  etx_pattern_set* set = NULL;
  uint32_t code = 0;
  etx_status status = new_set(c, &set);
  if (status != ETX_OK) return status;
  if (skip(c, "[")) {
    status = read_class(c, set);
  } else if (skip(c, ".")) {
    set->negated = true;
    status = add_range(c, set, '\n', '\n');
  } else {
    c->at += etx_utf8_read((const uint8_t*)c->text.data + c->at,
                           c->text.size - c->at, &code);
    status = add_code(c, set, code, code);
  }
  if (status != ETX_OK) return status;
  finish_set(c, set);
  add_least(c, 1);
  return emit_set(c, set);
}

static etx_status read_atom(compiler* c) {
  if (skip(c, "(")) return open_group(c);
  if (is(c, ")")) {
    const etx_status status = close_group(c);
    ++c->at;
    return status;
  }
  if (skip(c, "|")) return next_alternative(c);
  if (skip(c, "^")) return emit_assertion(c, ETX_PATTERN_LINE_BEGIN);
  if (skip(c, "$")) return emit_assertion(c, ETX_PATTERN_LINE_END);
  if (skip(c, "\\")) return read_backslash(c);
  return read_character(c);
}

static etx_status read_pattern(compiler* c) {
  while (more(c)) {
    etx_status status = quantify(c);
    if (status == ETX_NOT_FOUND) status = read_atom(c);
    if (status != ETX_OK) return status;
  }
  if (c->depth > 1) return refuse(c, "')' is missing");
  close_alternatives(c, &c->groups[0]);
  return insert(c, c->out->code_count, ETX_PATTERN_MATCH) == NULL ? too_long(c)
                                                                  : ETX_OK;
}

etx_status etx_pattern_compile(etx_text text, etx_arena* arena,
                               etx_pattern* out, etx_diag* diag) {
  compiler c;
  memset(&c, 0, sizeof c);
  memset(out, 0, sizeof *out);
  c.text = text;
  c.out = out;
  c.diag = diag;
  c.code_limit = code_bound(text.size);
  c.set_limit = set_bound(text.size);
  c.range_limit = range_bound(text.size);
  out->code = etx_arena_take(arena, c.code_limit * sizeof *out->code, 8);
  out->sets = etx_arena_take(arena, c.set_limit * sizeof *out->sets, 8);
  out->ranges = etx_arena_take(arena, c.range_limit * sizeof *out->ranges, 8);
  if (out->code == NULL || out->sets == NULL || out->ranges == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "too little memory for patterns");
  }
  c.depth = 1;
  memset(&c.groups[0], 0, sizeof c.groups[0]);
  c.groups[0].least = SIZE_MAX;
  return read_pattern(&c);
}
