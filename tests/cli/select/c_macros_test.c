// Macros whose definitions stand in conditions that the tool cannot decide.

#include "cli/amalgamate/c/c_macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct macro_fixture {
  etx_pool pool;
  etx_c_names names;
  etx_c_macros macros;
} macro_fixture;

static void open_macros(macro_fixture* f) {
  etx_pool_init(&f->pool);
  assert_int_equal(etx_c_names_init(&f->names, &f->pool), ETX_OK);
  assert_int_equal(etx_c_macros_init(&f->macros, &f->pool, &f->names), ETX_OK);
}

static etx_c_tokens tokens_of(macro_fixture* f, const char* text) {
  etx_c_tokens tokens = {.pool = &f->pool};
  assert_int_equal(etx_c_tokens_read(&tokens, &f->names, etx_text_of(text)),
                   ETX_OK);
  return tokens;
}

// Defines a macro in an undecided branch of its own.
static void define_in(macro_fixture* f, size_t branch, const char* text) {
  const etx_c_tokens definition = tokens_of(f, text);
  assert_int_equal(etx_c_branch_enter(&f->macros, branch), ETX_OK);
  assert_int_equal(etx_c_macro_define(&f->macros, &definition, 0), ETX_OK);
  etx_c_branch_leave(&f->macros);
}

static bool has_text(const etx_c_tokens* tokens, const char* text) {
  for (size_t i = 0; i < tokens->count; ++i) {
    if (etx_text_is(tokens->items[i].text, text)) return true;
  }
  return false;
}

// #ifdef __clang__ decides MASK, and #ifndef PRODUCT another macro that expands
// to it: no single choice for both meets the first text of MASK.
static void reaches_texts_behind_other_conditions(void** state) {
  (void)state;
  macro_fixture f;
  open_macros(&f);
  define_in(&f, 1, "MASK first");
  define_in(&f, 2, "MASK second");
  define_in(&f, 3, "PRODUCT MASK");
  const etx_c_tokens in = tokens_of(&f, "PRODUCT");
  etx_c_tokens taken = {.pool = &f.pool}, others = {.pool = &f.pool};
  etx_c_expansion e = {&f.macros, &f.pool, 0, 1, NULL, 0, 0};
  assert_int_equal(etx_c_expand(&e, &in, &taken), ETX_OK);
  assert_true(has_text(&taken, "second"));
  assert_int_equal(etx_c_expand_others(&e, &others), ETX_OK);
  assert_true(has_text(&others, "first"));
  assert_int_equal(e.used_count, 3);
  etx_pool_close(&f.pool);
}

static void ends_definitions_of_inner_branches(void** state) {
  (void)state;
  macro_fixture f;
  bool is_certain = false;
  open_macros(&f);
  define_in(&f, 1, "LANES 16");
  const uint32_t name = tokens_of(&f, "LANES").items[0].name;
  assert_int_equal(etx_c_macro_choices(&f.macros, name, &is_certain), 1);
  // In another branch, #undef ends nothing that is defined outside of it.
  assert_int_equal(etx_c_branch_enter(&f.macros, 2), ETX_OK);
  etx_c_macro_undefine(&f.macros, name);
  etx_c_branch_leave(&f.macros);
  assert_int_equal(etx_c_macro_choices(&f.macros, name, &is_certain), 1);
  etx_c_macro_undefine(&f.macros, name);
  assert_int_equal(etx_c_macro_choices(&f.macros, name, &is_certain), 0);
  etx_pool_close(&f.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reaches_texts_behind_other_conditions),
      cmocka_unit_test(ends_definitions_of_inner_branches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
