// Vectors of FIPS 180-4 and the NIST examples.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/host/sha256.h"
#include "exporter/host/sha256_internal.h"

static void assert_digest(const char* text, size_t repeat,
                          const char* expected) {
  etx_sha256 hash;
  uint8_t digest[ETX_SHA256_BYTES];
  char hex[2 * ETX_SHA256_BYTES + 1];
  etx_sha256_init(&hash);
  for (size_t i = 0; i < repeat; ++i) {
    etx_sha256_add(&hash, text, strlen(text));
  }
  etx_sha256_finish(&hash, digest);
  for (size_t i = 0; i < ETX_SHA256_BYTES; ++i) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
  assert_string_equal(hex, expected);
}

static void known_messages_have_known_digests(void** state) {
  (void)state;
  assert_digest(
      "", 1,
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_digest(
      "abc", 1,
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_digest(
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  assert_digest(
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnop"
      "jklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  assert_digest(
      "a", 1000000,
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_give_the_digest_of_the_whole(void** state) {
  uint8_t data[300], whole[ETX_SHA256_BYTES], parts[ETX_SHA256_BYTES];
  (void)state;
  for (size_t i = 0; i < sizeof data; ++i) data[i] = (uint8_t)(i * 7);
  for (size_t size = 0; size <= sizeof data; size += 13) {
    etx_sha256 hash;
    etx_sha256_init(&hash);
    etx_sha256_add(&hash, data, size);
    etx_sha256_finish(&hash, whole);
    etx_sha256_init(&hash);
    for (size_t at = 0; at < size;) {
      const size_t step = 1 + (at * 5 + size) % 90;
      const size_t part = step < size - at ? step : size - at;
      etx_sha256_add(&hash, data + at, part);
      at += part;
    }
    etx_sha256_finish(&hash, parts);
    assert_memory_equal(whole, parts, sizeof whole);
  }
}

// The digest of the million bytes, which instructions hash if there are any.
static void whole_messages_have_the_digest_of_pieces(void** state) {
  enum { SIZE = 1000000 };
  (void)state;
  char* const text = malloc(SIZE + 1);
  assert_non_null(text);
  memset(text, 'a', SIZE);
  text[SIZE] = '\0';
  assert_digest(
      text, 1,
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(text);
}

static void instructions_agree_with_plain_code(void** state) {
  enum { BLOCKS = 40, SIZE = BLOCKS * 64 };
  static uint8_t blocks[SIZE + 1];
  uint32_t random = 1;
  (void)state;
  etx_sha256_blocks* const instructions = etx_sha256_instructions();
  if (instructions == NULL) skip();
  for (size_t i = 0; i < sizeof blocks; ++i) {
    random = random * 1664525 + 1013904223;
    blocks[i] = (uint8_t)(random >> 24);
  }
  for (size_t count = 0; count <= BLOCKS; ++count) {
    etx_sha256 plain, fast;
    etx_sha256_init(&plain);
    etx_sha256_init(&fast);
    etx_sha256_plain(etx_sha256_constants, plain.state, blocks + count % 2,
                     count);
    instructions(etx_sha256_constants, fast.state, blocks + count % 2, count);
    assert_memory_equal(fast.state, plain.state, sizeof plain.state);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_messages_have_known_digests),
      cmocka_unit_test(whole_messages_have_the_digest_of_pieces),
      cmocka_unit_test(instructions_agree_with_plain_code),
      cmocka_unit_test(pieces_give_the_digest_of_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
