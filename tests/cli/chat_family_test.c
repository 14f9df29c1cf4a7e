// Chats of all families against recorded ones of apply_chat_template
// (record_chats.py).

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text/chat_family.h"
#include "tests/support/assert_status.h"

enum { MESSAGES_MAX = 8, CASES_LEAST = 100 };

static etx_diag diag;

static etx_text read_text(etx_text* rest) {
  const uint8_t* const bytes = (const uint8_t*)rest->data;
  assert_true(rest->size >= 4);
  const size_t size = (size_t)bytes[0] | (size_t)bytes[1] << 8 |
                      (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
  assert_true(rest->size - 4 >= size);
  const etx_text text = {rest->data + 4, size};
  *rest = (etx_text){text.data + size, rest->size - 4 - size};
  return text;
}

static void assert_text(etx_text found, etx_text expected, const char* family) {
  if (etx_text_equal(found, expected)) return;
  fail_msg("%s: '%.*s', expected '%.*s'", family, (int)found.size, found.data,
           (int)expected.size, expected.data);
}

static void check_case(etx_text* rest, etx_pool* pool) {
  etx_text messages[MESSAGES_MAX];
  etx_chat chat = {.bos = etx_text_of("<s>"),
                   .eos = etx_text_of("</s>"),
                   .messages = messages};
  const etx_text name = read_text(rest);
  const etx_text jinja = read_text(rest);
  const etx_text end = read_text(rest);
  chat.system = read_text(rest);
  const etx_text count = read_text(rest);
  assert_int_equal(count.size, 1);
  chat.count = (size_t)(count.data[0] - '0');
  assert_in_range(chat.count, 1, MESSAGES_MAX);
  for (size_t i = 0; i < chat.count; ++i) messages[i] = read_text(rest);
  chat.family = etx_chat_family_recognise(jinja);
  assert_non_null(chat.family);
  assert_text(etx_text_of(chat.family->name), name, chat.family->name);
  assert_ptr_equal(etx_chat_family_find(chat.family->name), chat.family);
  chat.has_bos = etx_chat_template_has(jinja, etx_text_of("bos_token"));
  if (chat.system.size == 0) {
    chat.system = etx_chat_family_default_system(chat.family, jinja);
  }
  etx_text found;
  assert_ok(etx_chat_write(&chat, pool, &found, &diag));
  assert_text(found, read_text(rest), chat.family->name);
  assert_text(etx_chat_end_token(&chat, pool), end, chat.family->name);
}

static void chats_are_those_of_transformers(void** state) {
  char path[512];
  static char bytes[1 << 20];
  (void)state;
  snprintf(path, sizeof path, "%s/chats/chats.bin", ETX_TEST_DATA);
  FILE* const file = fopen(path, "rb");
  assert_non_null(file);
  etx_text rest = {bytes, fread(bytes, 1, sizeof bytes, file)};
  fclose(file);
  size_t count = 0;
  while (rest.size > 0) {
    etx_pool pool;
    etx_pool_init(&pool);
    check_case(&rest, &pool);
    etx_pool_close(&pool);
    ++count;
  }
  assert_true(count >= CASES_LEAST);
}

static void a_template_of_no_family_is_not_recognised(void** state) {
  (void)state;
  assert_null(etx_chat_family_recognise(
      etx_text_of("{% for m in messages %}{{ m['content'] }}{% endfor %}")));
  assert_null(etx_chat_family_recognise((etx_text){NULL, 0}));
  assert_null(etx_chat_family_find("other"));
  assert_false(etx_chat_template_has(etx_text_of("a"), etx_text_of("")));
}

// A text that is put together, or that ends elsewhere, is no default.
static void a_default_message_is_a_whole_text(void** state) {
  static const char* const templates[] = {
      "",
      "<|im_start|>system\\n",
      "'<|im_start|>system\\n' + content",
      "<|im_start|>system\\nHello",
      "<|im_start|>system\\n<|im_end|>\\n",
      "<|im_start|>system\\n{{ text }}<|im_end|>\\n"};
  const etx_chat_family* const family = etx_chat_family_find("chatml");
  (void)state;
  for (size_t i = 0; i < sizeof templates / sizeof *templates; ++i) {
    assert_null(
        etx_chat_family_default_system(family, etx_text_of(templates[i])).data);
  }
  const etx_text lines =
      etx_text_of("x<|im_start|>system\nHello you.<|im_end|>\n");
  assert_text(etx_chat_family_default_system(family, lines),
              etx_text_of("Hello you."), "chatml");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chats_are_those_of_transformers),
      cmocka_unit_test(a_template_of_no_family_is_not_recognised),
      cmocka_unit_test(a_default_message_is_a_whole_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
