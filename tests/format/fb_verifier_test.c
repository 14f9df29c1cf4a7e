#include "tests/format/fixtures/format_test.h"

#include <stdlib.h>

#include "format/base/size_limits.h"
#include "format/flatbuffers/fb_builder.h"
#include "format/flatbuffers/fb_verifier.h"
#include "tests/support/guarded_memory.h"

// ---- one small table, byte by byte ----

static const etx_fb_field_info small_fields[] = {
    {ETX_FB_I32, false, 0}, {ETX_FB_STRING, true, 0}, {ETX_FB_U64, false, 0}};
static const etx_fb_table_info small_tables[] = {{0, 3}};
static const etx_fb_schema small = {small_tables,
                                    small_fields,
                                    NULL,
                                    "Small\0number\0text\0wide",
                                    {'T', 'E', 'S', 'T'}};

static const uint8_t good[] = {
    20,  0,   0,   0,    // 0: the root table is at 20
    'T', 'E', 'S', 'T',  // 4: identifier
    0,   0,              // 8: padding
    10,  0,              // 10: vtable: its size
    12,  0,              // 12: size of the table
    4,   0,              // 14: field 0 at 4 in the table
    8,   0,              // 16: field 1 at 8
    0,   0,              // 18: field 2 is absent
    10,  0,   0,   0,    // 20: the table: 10 bytes back to its vtable
    251, 255, 255, 255,  // 28: the string is 4 bytes further
    4,   0,   0,   0,    // 28: the string is 4 bytes further
    2,   0,   0,   0,    // 32: its length
    'h', 'i', 0,   0,    // 36: its bytes and a NUL
};

// Verifies a copy of the buffer that ends at an inaccessible page.
static etx_status verify_buffer(const etx_fb_buffer* buffer,
                                const etx_fb_schema* schema,
                                uint32_t max_tables, etx_diag* diag) {
  test_block copy = test_block_of((etx_bytes){buffer->data, buffer->size}, 1);
  const etx_fb_buffer own = {copy.bytes.data, buffer->size};
  etx_diag_init(diag);
  const etx_status status = etx_fb_verify(&own, schema, max_tables, diag);
  assert_true(test_block_end(&copy));
  return status;
}

static etx_status verify_copy(const uint8_t* bytes, uint32_t size,
                              etx_diag* diag) {
  const etx_fb_buffer buffer = {bytes, size};
  return verify_buffer(&buffer, &small, 0, diag);
}

static void a_good_table_is_accepted(void** state) {
  etx_diag diag;
  (void)state;
  assert_ok(verify_copy(good, sizeof good, &diag));
  // The last byte is padding.
  assert_ok(verify_copy(good, sizeof good - 1, &diag));
}

typedef struct damage {
  uint32_t position;
  uint8_t value;
  const char* message;
} damage;

static void each_damage_is_refused_with_its_reason(void** state) {
  static const damage damages[] = {
      {4, 'X', "identifier"},
      {0, 0, "a reference points to byte 0 of 40"},
      {0, 40, "a reference points to byte 40 of 40"},
      {3, 1, "a reference points to byte 16777236 of 40"},
      {0, 21, "a table lies at byte 21, not a multiple of 4"},
      {0, 39, "a table lies at byte 39"},
      {20, 9, "the table at byte 20 has its vtable 9 bytes away"},
      {20, 30, "has its vtable 30 bytes away"},
      {10, 9, "a vtable has 9 bytes"},
      {10, 2, "a vtable has 2 bytes"},
      {10, 32,
       "a vtable has 32 bytes, which is odd, less than 4, or more "
       "than the 30 that are left"},
      {14, 2, "'Small.number': a field lies at byte 2 of its table"},
      {14, 17,
       "'Small.number': a field lies at byte 17 of its table, 20 bytes "
       "are left"},
      {14, 6, "'Small.number': a field lies at byte 26, not a multiple of 4"},
      {16, 0, "'Small.text': the table at byte 20 lacks required field 1"},
      {16, 6, "'Small.text': a field lies at byte 26"},
      {18, 8, "'Small.wide': a field lies at byte 28, not a multiple of 8"},
      {18, 16,
       "'Small.wide': a field lies at byte 16 of its table, 20 bytes "
       "are left"},
      {28, 5, "'Small.text': a vector lies at byte 33, not a multiple of 4"},
      {28, 0, "'Small.text': a reference points to byte 28 of 40"},
      {28, 12, "'Small.text': a reference points to byte 40 of 40"},
      {32, 5, "'Small.text': a vector's elements take 5 bytes, 4 are left"},
      {35, 255, "'Small.text': a vector's elements take"},
      {32, 4, "'Small.text': a string ends at byte 40 with 1 instead of"},
      {32, 1,
       "'Small.text': a string ends at byte 37 with 105 instead of a "
       "zero byte"},
      {38, 1, "'Small.text': a string ends at byte 38 with 1"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(damages); ++i) {
    uint8_t bytes[sizeof good];
    etx_diag diag;
    memcpy(bytes, good, sizeof good);
    bytes[damages[i].position] = damages[i].value;
    assert_int_equal(verify_copy(bytes, sizeof bytes, &diag), ETX_BAD_FILE);
    assert_says(&diag, damages[i].message);
    // In a build without messages, the position is all that there is.
    if (damages[i].position >= 4) assert_true(diag.offset >= 4);
  }
}

static void every_truncation_is_refused(void** state) {
  etx_diag diag;
  (void)state;
  for (uint32_t size = 0; size + 1 < sizeof good; ++size) {
    assert_int_equal(verify_copy(good, size, &diag), ETX_BAD_FILE);
  }
}

// Common Python writers share vtables between tables of different sizes.
static void the_stated_size_of_a_table_is_ignored(void** state) {
  uint8_t bytes[sizeof good];
  etx_diag diag;
  (void)state;
  memcpy(bytes, good, sizeof good);
  bytes[12] = 4;
  assert_ok(verify_copy(bytes, sizeof bytes, &diag));
}

// ---- every type ----

enum { NODE, LEAF };
enum { CODE, MEMBER, CHILDREN, CHILD, BYTES, WIDES, TEXT, FIELD_COUNT };
static const etx_fb_field_info node_fields[] = {
    [CODE] = {ETX_FB_CODE, false, 0},
    [MEMBER] = {ETX_FB_UNION, false, 0},
    [CHILDREN] = {ETX_FB_TABLES, false, NODE},
    [CHILD] = {ETX_FB_TABLE, false, NODE},
    [BYTES] = {ETX_FB_U8S, false, 0},
    [WIDES] = {ETX_FB_F64S, false, 0},
    [TEXT] = {ETX_FB_STRING, false, 0},
    [FIELD_COUNT] = {ETX_FB_I32, true, 0},  // the leaf's
    [FIELD_COUNT + 1] = {ETX_FB_U64, false, 0}};
static const etx_fb_table_info node_tables[] = {{0, FIELD_COUNT},
                                                {FIELD_COUNT, 2}};
static const uint8_t node_members[] = {LEAF, NODE};
static const etx_fb_union_info node_unions[] = {{node_members, 2}};
static const etx_fb_schema nodes = {
    node_tables,
    node_fields,
    node_unions,
    "Node\0code\0member\0children\0child\0bytes\0wides\0text\0Leaf\0number\0"
    "wide",
    {'N', 'O', 'D', 'E'}};

static uint64_t block[8192];

typedef struct built {
  etx_fb_builder b;
  etx_bytes_mut bytes;
} built;

static void begin(built* it) {
  const etx_bytes_mut space = {(uint8_t*)block, sizeof block};
  etx_fb_builder_init(&it->b, space);
}

static etx_fb_ref leaf(built* it, int32_t number) {
  etx_fb_builder_start(&it->b);
  etx_fb_builder_add_i32(&it->b, 0, number, 0);
  return etx_fb_builder_end(&it->b);
}

static etx_fb_ref node_of(built* it, uint32_t field, etx_fb_ref ref) {
  etx_fb_builder_start(&it->b);
  etx_fb_builder_add_ref(&it->b, field, ref);
  return etx_fb_builder_end(&it->b);
}

static etx_fb_ref union_of(built* it, uint8_t code, etx_fb_ref member) {
  etx_fb_builder_start(&it->b);
  etx_fb_builder_add_ref(&it->b, MEMBER, member);
  etx_fb_builder_add_u8(&it->b, CODE, code, 0);
  return etx_fb_builder_end(&it->b);
}

// A vector of `count` unions that hold leaves: from the third on all have a
// form that was seen before.
static etx_fb_ref unions_of_leaves(built* it, size_t count) {
  const size_t refs = etx_fb_builder_reserve_refs(&it->b, count);
  for (size_t i = 0; i < count; ++i) {
    etx_fb_builder_start(&it->b);
    etx_fb_builder_add_i32(&it->b, 0, 5, 0);
    etx_fb_builder_add_u64(&it->b, 1, 6, 0);
    etx_fb_builder_set_ref(&it->b, refs, i,
                           union_of(it, 1, etx_fb_builder_end(&it->b)));
  }
  return etx_fb_builder_table_vector(&it->b, refs, count);
}

static etx_status verify(built* it, etx_fb_ref root, uint32_t max_tables,
                         etx_diag* diag) {
  assert_ok(etx_fb_builder_finish(&it->b, root, nodes.identifier, &it->bytes));
  const etx_fb_buffer buffer = {it->bytes.data, (uint32_t)it->bytes.size};
  return verify_buffer(&buffer, &nodes, max_tables, diag);
}

static void members_of_a_union_are_verified(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  assert_ok(verify(&it, union_of(&it, 1, leaf(&it, 5)), 0, &diag));
  begin(&it);  // a leaf of 0 lacks its needed number
  assert_int_equal(verify(&it, union_of(&it, 1, leaf(&it, 0)), 0, &diag),
                   ETX_BAD_FILE);
  assert_says(&diag, "'Leaf.number'");
  begin(&it);
  assert_int_equal(verify(&it, union_of(&it, 3, leaf(&it, 5)), 0, &diag),
                   ETX_BAD_FILE);
  assert_says(&diag, "a union holds member 3, the largest known is 2");
  begin(&it);
  assert_int_equal(verify(&it, union_of(&it, 0, leaf(&it, 5)), 0, &diag),
                   ETX_BAD_FILE);
  assert_says(&diag, "a value without a code");
}

static void a_member_without_a_value_is_left_to_the_reader(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  assert_ok(verify(&it, union_of(&it, 2, 0), 0, &diag));
}

static void every_table_of_a_vector_is_verified(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  for (size_t bad = 0; bad < 3; ++bad) {
    begin(&it);
    const size_t refs = etx_fb_builder_reserve_refs(&it.b, 3);
    for (size_t i = 0; i < 3; ++i) {
      etx_fb_builder_set_ref(&it.b, refs, i,
                             union_of(&it, 1, leaf(&it, i == bad ? 0 : 5)));
    }
    const etx_fb_ref tables = etx_fb_builder_table_vector(&it.b, refs, 3);
    assert_int_equal(verify(&it, node_of(&it, CHILDREN, tables), 0, &diag),
                     ETX_BAD_FILE);
    assert_says(&diag, "'Leaf.number'");
  }
}

static void wide_elements_must_be_aligned(void** state) {
  static const double wides[] = {1, 2};
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  const etx_fb_ref vector = etx_fb_builder_vector(&it.b, wides, 2, 8, 8);
  assert_ok(verify(&it, node_of(&it, WIDES, vector), 0, &diag));
  // The same bytes at an address 4 bytes higher: all but the 8-byte elements
  // stays aligned.
  memmove(it.bytes.data - 4, it.bytes.data, it.bytes.size);
  const uint8_t* moved = it.bytes.data - 4;
  static uint64_t room[64];
  uint8_t* shifted = (uint8_t*)room;
  memcpy(shifted, moved, 8);
  memset(shifted + 8, 0, 4);
  memcpy(shifted + 12, moved + 8, it.bytes.size - 8);
  shifted[0] = (uint8_t)(shifted[0] + 4);
  const etx_fb_buffer buffer = {shifted, (uint32_t)it.bytes.size + 4};
  assert_int_equal(verify_buffer(&buffer, &nodes, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'Node.wides': a vector's elements lie at byte");
}

static etx_fb_ref chain_of(built* it, size_t tables) {
  etx_fb_ref ref = node_of(it, TEXT, 0);
  for (size_t i = 1; i < tables; ++i) ref = node_of(it, CHILD, ref);
  return ref;
}

static void nesting_has_a_limit(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  assert_ok(verify(&it, chain_of(&it, ETX_MAX_FB_DEPTH), 0, &diag));
  begin(&it);
  assert_int_equal(verify(&it, chain_of(&it, ETX_MAX_FB_DEPTH + 1), 0, &diag),
                   ETX_BAD_FILE);
  assert_says(&diag, "tables are nested 65 deep, at most 64 are allowed");
}

static void the_number_of_tables_has_a_limit(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  assert_ok(verify(&it, chain_of(&it, 10), 10, &diag));
  begin(&it);
  assert_int_equal(verify(&it, chain_of(&it, 11), 10, &diag), ETX_BAD_FILE);
  assert_says(&diag, "there are more than 10 tables");
}

static void tables_with_a_known_vtable_count_towards_the_limit(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  for (uint32_t missing = 0; missing < 4; ++missing) {
    begin(&it);
    const etx_fb_ref root = node_of(&it, CHILDREN, unions_of_leaves(&it, 9));
    const etx_status status = verify(&it, root, 19 - missing, &diag);
    assert_int_equal(status, missing == 0 ? ETX_OK : ETX_BAD_FILE);
    if (missing > 0) assert_says(&diag, "there are more than 1");
  }
}

static void tables_with_a_known_vtable_count_towards_the_depth(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  for (size_t above = 0; above < 3; ++above) {
    begin(&it);
    const etx_fb_ref first = unions_of_leaves(&it, 9);
    etx_fb_ref ref = node_of(&it, CHILDREN, unions_of_leaves(&it, 9));
    // The tables are the root, the node above, the unions and their leaves.
    for (size_t i = 0; i < ETX_MAX_FB_DEPTH - 4 + above; ++i) {
      ref = node_of(&it, CHILD, ref);
    }
    etx_fb_builder_start(&it.b);
    etx_fb_builder_add_ref(&it.b, CHILD, ref);
    etx_fb_builder_add_ref(&it.b, CHILDREN, first);
    const etx_status status = verify(&it, etx_fb_builder_end(&it.b), 0, &diag);
    assert_int_equal(status, above == 0 ? ETX_OK : ETX_BAD_FILE);
    if (above > 0) assert_says(&diag, "tables are nested 65 deep");
  }
}

// The third union's place, and room behind the file for another table.
typedef struct room {
  uint64_t bytes[128];
  etx_fb_buffer buffer;
  uint32_t reference;  // the position of the reference to the third union
} room;

static uint8_t* byte_at(room* r, uint32_t position) {
  return (uint8_t*)r->bytes + position;
}

static void make_room(room* r) {
  built it;
  etx_diag diag;
  begin(&it);
  const etx_fb_ref root = node_of(&it, CHILDREN, unions_of_leaves(&it, 3));
  assert_ok(verify(&it, root, 0, &diag));
  assert_true(it.bytes.size < sizeof r->bytes - 64);
  memset(r->bytes, 0, sizeof r->bytes);
  memcpy(r->bytes, it.bytes.data, it.bytes.size);
  r->buffer = (etx_fb_buffer){byte_at(r, 0), (uint32_t)it.bytes.size};
  r->reference =
      etx_fb_vector_in(&r->buffer, etx_fb_root(&r->buffer), CHILDREN).position +
      8;
}

// Makes the reference at `reference` lead to `bytes` of a copy of the table at
// `table`, as the last of the file and `shift` bytes further in its eight.
static void move_table(room* r, uint32_t reference, uint32_t table,
                       uint32_t bytes, uint32_t shift) {
  const uint32_t place = (r->buffer.size + 7) / 8 * 8 + (table + shift) % 8;
  uint32_t distance = 0;
  memcpy(byte_at(r, place), byte_at(r, table), bytes);
  memcpy(&distance, byte_at(r, table), sizeof distance);
  distance += place - table;
  memcpy(byte_at(r, place), &distance, sizeof distance);
  distance = place - reference;
  memcpy(byte_at(r, reference), &distance, sizeof distance);
  r->buffer.size = place + bytes;
}

static void a_table_with_a_known_vtable_must_end_inside_the_file(void** state) {
  room r;
  etx_diag diag;
  (void)state;
  make_room(&r);
  const etx_fb_vector unions =
      etx_fb_vector_in(&r.buffer, etx_fb_root(&r.buffer), CHILDREN);
  move_table(&r, r.reference, etx_fb_table_at(&r.buffer, unions, 0), 4, 0);
  assert_int_equal(verify_buffer(&r.buffer, &nodes, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "of its table, 4 bytes are left");
}

// The last fields of the table end there, too.
static void a_table_with_a_known_vtable_ends_with_its_fields(void** state) {
  room r;
  etx_diag diag;
  (void)state;
  make_room(&r);
  const etx_fb_vector unions =
      etx_fb_vector_in(&r.buffer, etx_fb_root(&r.buffer), CHILDREN);
  const uint32_t third = etx_fb_table_at(&r.buffer, unions, 2);
  const uint32_t member = etx_fb_field(&r.buffer, third, MEMBER);
  const uint32_t table = etx_fb_table(&r.buffer, third, MEMBER);
  const uint32_t number = etx_fb_field(&r.buffer, table, 0) + 4 - table;
  const uint32_t wide = etx_fb_field(&r.buffer, table, 1) + 8 - table;
  const uint32_t end = number > wide ? number : wide;
  const room before = r;
  for (uint32_t bytes = 4; bytes <= end; ++bytes) {
    r = before;
    r.buffer.data = byte_at(&r, 0);
    move_table(&r, member, table, bytes, 0);
    assert_int_equal(verify_buffer(&r.buffer, &nodes, 0, &diag),
                     bytes == end ? ETX_OK : ETX_BAD_FILE);
  }
}

static void a_table_with_a_known_vtable_must_be_aligned(void** state) {
  room r;
  etx_diag diag;
  (void)state;
  make_room(&r);
  const etx_fb_vector unions =
      etx_fb_vector_in(&r.buffer, etx_fb_root(&r.buffer), CHILDREN);
  const uint32_t third = etx_fb_table_at(&r.buffer, unions, 2);
  const uint32_t member = etx_fb_field(&r.buffer, third, MEMBER);
  const uint32_t table = etx_fb_table(&r.buffer, third, MEMBER);
  const room before = r;
  move_table(&r, member, table, 24, 0);
  assert_ok(verify_buffer(&r.buffer, &nodes, 0, &diag));
  r = before;
  r.buffer.data = byte_at(&r, 0);
  move_table(&r, member, table, 24, 4);
  assert_int_equal(verify_buffer(&r.buffer, &nodes, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'Leaf.wide': a field lies at byte");
}

// A table of the first type, with a vtable 2 GB behind a known one of the
// second type, at a place with the same remainder by 8.
static void a_vtable_far_outside_is_no_known_one(void** state) {
  size_t tried = 0;
  (void)state;
  for (int pad = 0; pad < 2; ++pad) {
    built it;
    etx_diag diag;
    begin(&it);
    const size_t refs = etx_fb_builder_reserve_refs(&it.b, 2);
    etx_fb_builder_set_ref(&it.b, refs, 0, union_of(&it, 1, leaf(&it, 5)));
    if (pad) (void)etx_fb_builder_vector(&it.b, NULL, 0, 4, 4);
    etx_fb_builder_set_ref(&it.b, refs, 1, node_of(&it, TEXT, 0));
    const etx_fb_ref tables = etx_fb_builder_table_vector(&it.b, refs, 2);
    assert_ok(verify(&it, node_of(&it, CHILDREN, tables), 0, &diag));
    const etx_fb_buffer fb = {it.bytes.data, (uint32_t)it.bytes.size};
    const etx_fb_vector both =
        etx_fb_vector_in(&fb, etx_fb_root(&fb), CHILDREN);
    const uint32_t known =
        etx_fb_table(&fb, etx_fb_table_at(&fb, both, 0), MEMBER);
    const uint32_t table = etx_fb_table_at(&fb, both, 1);
    if ((known ^ table) % 8 != 0) continue;
    uint32_t distance = 0;
    memcpy(&distance, fb.data + known, sizeof distance);
    distance += table - known + 0x80000000u;
    memcpy(it.bytes.data + table, &distance, sizeof distance);
    assert_int_equal(verify_buffer(&fb, &nodes, 0, &diag), ETX_BAD_FILE);
    ++tried;
  }
  assert_int_equal(tried, 1);
}

// Of a schema in which a table without fields precedes the one that is wrong.
static void a_message_names_the_table_that_has_the_field(void** state) {
  static const etx_fb_field_info fields[] = {{ETX_FB_TABLE, false, 1},
                                             {ETX_FB_TABLE, false, 2},
                                             {ETX_FB_STRING, true, 0}};
  static const etx_fb_table_info tables[] = {{0, 2}, {2, 0}, {2, 1}};
  static const etx_fb_schema schema = {
      tables, fields, NULL, "Root\0none\0full\0Empty\0Full\0text", "TEST"};
  uint64_t space[32];
  etx_fb_builder b;
  etx_bytes_mut out = {NULL, 0};
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  etx_fb_builder_init(&b, (etx_bytes_mut){(uint8_t*)space, sizeof space});
  etx_fb_builder_start(&b);
  const etx_fb_ref lacking = etx_fb_builder_end(&b);
  etx_fb_builder_start(&b);
  etx_fb_builder_add_ref(&b, 0, lacking);
  etx_fb_builder_add_ref(&b, 1, lacking);
  assert_ok(etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "TEST", &out));
  const etx_fb_buffer buffer = {out.data, (uint32_t)out.size};
  assert_int_equal(verify_buffer(&buffer, &schema, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'Full.text': the table at byte");
}

// Two tables of one layout, whose only field refers to a text.
static void the_text_of_a_second_table_is_verified(void** state) {
  static const etx_fb_field_info fields[] = {{ETX_FB_TABLES, false, 1},
                                             {ETX_FB_STRING, false, 0}};
  static const etx_fb_table_info tables[] = {{0, 1}, {1, 1}};
  static const etx_fb_schema schema = {tables, fields, NULL,
                                       "Root\0rows\0Row\0text", "TEST"};
  uint64_t space[32];
  etx_fb_builder b;
  etx_bytes_mut out = {NULL, 0};
  etx_diag diag;
  (void)state;
  etx_fb_builder_init(&b, (etx_bytes_mut){(uint8_t*)space, sizeof space});
  const size_t refs = etx_fb_builder_reserve_refs(&b, 2);
  for (size_t i = 0; i < 2; ++i) {
    const etx_fb_ref text =
        etx_fb_builder_string(&b, etx_text_of(i == 0 ? "one" : "two"));
    etx_fb_builder_start(&b);
    etx_fb_builder_add_ref(&b, 0, text);
    etx_fb_builder_set_ref(&b, refs, i, etx_fb_builder_end(&b));
  }
  const etx_fb_ref rows = etx_fb_builder_table_vector(&b, refs, 2);
  etx_fb_builder_start(&b);
  etx_fb_builder_add_ref(&b, 0, rows);
  assert_ok(etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "TEST", &out));
  const etx_fb_buffer buffer = {out.data, (uint32_t)out.size};
  assert_ok(verify_buffer(&buffer, &schema, 0, &diag));
  for (size_t at = 8; at + 4 <= out.size; ++at) {
    if (memcmp(out.data + at, "two", 4) != 0) continue;
    out.data[at + 3] = 'x';  // instead of the NUL
  }
  assert_int_equal(verify_buffer(&buffer, &schema, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'Row.text': a string ends at byte");
}

// Of a buffer whose end is not aligned.
static void numbers_end_inside_the_buffer(void** state) {
  uint8_t bytes[sizeof good];
  etx_diag diag;
  (void)state;
  memcpy(bytes, good, sizeof good);
  bytes[28] = 8;
  assert_int_equal(verify_copy(bytes, 38, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'Small.text': a reference points to byte 36 of 38");
  memcpy(bytes, good, sizeof good);
  bytes[0] = 36;
  assert_int_equal(verify_copy(bytes, 38, &diag), ETX_BAD_FILE);
  assert_says(&diag, "a table ends at byte 40 of 38");
}

static const etx_fb_field_info byte_fields[] = {{ETX_FB_U8, false, 0}};
static const etx_fb_table_info byte_tables[] = {{0, 1}};
static const etx_fb_schema byte_schema = {byte_tables, byte_fields, NULL,
                                          "Byte\0value", "TEST"};

// A byte at each place of its table, which is the last of the buffer.
static void a_byte_lies_behind_the_start_of_its_table(void** state) {
  uint8_t bytes[] = {16, 0, 0, 0, 'T', 'E', 'S', 'T', 6, 0, 8, 0,
                     4,  0, 0, 0, 8,   0,   0,   0,   1, 2, 3, 4};
  (void)state;
  for (uint8_t at = 1; at <= 9; ++at) {
    const etx_fb_buffer buffer = {bytes, sizeof bytes};
    etx_diag diag;
    bytes[12] = at;
    assert_int_equal(verify_buffer(&buffer, &byte_schema, 0, &diag),
                     at >= 4 && at < 8 ? ETX_OK : ETX_BAD_FILE);
  }
}

// A table without fields: in its place, misaligned, and too near to the end.
// The bytes at 0 could be its vtable.
static void a_table_without_fields_has_a_place(void** state) {
  static const etx_fb_table_info tables[] = {{0, 0}};
  static const etx_fb_schema schema = {tables, byte_fields, NULL, "Empty",
                                       "TEST"};
  uint8_t bytes[] = {20, 0, 0, 0, 'T', 'E', 'S', 'T', 4,  0, 4, 0,
                     0,  0, 0, 0, 0,   0,   0,   0,   12, 0, 0, 0};
  (void)state;
  for (uint8_t at = 18; at <= 20; at += 2) {
    for (uint32_t size = 22; size <= 24; size += 2) {
      const etx_fb_buffer buffer = {bytes, size};
      etx_diag diag;
      bytes[0] = at;
      assert_int_equal(verify_buffer(&buffer, &schema, 0, &diag),
                       at == 20 && size == 24 ? ETX_OK : ETX_BAD_FILE);
    }
  }
}

// A vector of bytes at its place, at that of its reference, and outside. The
// first bytes of the buffer could be one.
static void a_vector_is_not_where_its_reference_is(void** state) {
  static const etx_fb_field_info fields[] = {{ETX_FB_U8S, false, 0}};
  static const etx_fb_schema schema = {byte_tables, fields, NULL,
                                       "Bytes\0items", "TEST"};
  uint8_t bytes[] = {16, 0, 0, 0, 'T', 'E', 'S', 'T', 6, 0, 8, 0, 4, 0,
                     0,  0, 8, 0, 0,   0,   4,   0,   0, 0, 0, 0, 0, 0};
  (void)state;
  for (uint8_t distance = 0; distance <= 8; distance += 4) {
    const etx_fb_buffer buffer = {bytes, sizeof bytes};
    etx_diag diag;
    bytes[20] = distance;
    assert_int_equal(verify_buffer(&buffer, &schema, 0, &diag),
                     distance == 4 ? ETX_OK : ETX_BAD_FILE);
  }
}

// Wide elements: as many as there is room for, one more, and none where one
// would be misaligned.
static void a_vector_of_wide_elements_ends_inside_the_buffer(void** state) {
  static const etx_fb_field_info fields[] = {{ETX_FB_F64S, false, 0}};
  static const etx_fb_schema schema = {byte_tables, fields, NULL, "Wide\0items",
                                       "TEST"};
  static const struct {
    uint8_t distance, count;
    etx_status status;
  } rows[] = {{8, 0, ETX_OK},       {8, 1, ETX_OK}, {8, 2, ETX_BAD_FILE},
              {8, 9, ETX_BAD_FILE}, {4, 0, ETX_OK}, {4, 1, ETX_BAD_FILE}};
  (void)state;
  for (size_t i = 0; i < COUNT(rows); ++i) {
    uint8_t bytes[40] = {16, 0, 0, 0, 'T', 'E', 'S', 'T', 6, 0,
                         8,  0, 4, 0, 0,   0,   8,   0,   0, 0};
    const etx_fb_buffer buffer = {bytes, sizeof bytes};
    etx_diag diag;
    bytes[20] = rows[i].distance;
    bytes[20 + rows[i].distance] = rows[i].count;
    const etx_status status = verify_buffer(&buffer, &schema, 0, &diag);
    if (status != rows[i].status) fail_msg("row %zu: %d", i, (int)status);
  }
}

static void a_vtable_may_end_with_the_buffer(void** state) {
  static const uint8_t bytes[] = {8,    0,    0,    0,    'T', 'E', 'S', 'T',
                                  0xf8, 0xff, 0xff, 0xff, 1,   0,   0,   0,
                                  6,    0,    8,    0,    4,   0};
  etx_diag diag;
  (void)state;
  etx_fb_buffer buffer = {bytes, sizeof bytes};
  assert_ok(verify_buffer(&buffer, &byte_schema, 0, &diag));
  buffer.size -= 1;
  assert_int_equal(verify_buffer(&buffer, &byte_schema, 0, &diag),
                   ETX_BAD_FILE);
}

static void a_message_says_what_the_head_has(void** state) {
  uint8_t bytes[sizeof good];
  etx_diag diag;
  (void)state;
  memcpy(bytes, good, sizeof good);
  bytes[4] = 'X';
  assert_int_equal(verify_copy(bytes, sizeof bytes, &diag), ETX_BAD_FILE);
  assert_says(&diag, "the identifier is 0x54534558, expected 0x54534554");
  assert_int_equal(diag.offset, 4);
  assert_int_equal(verify_copy(good, 7, &diag), ETX_BAD_FILE);
  assert_says(&diag, "the buffer has 7 bytes, at least 8 are needed");
  assert_int_equal(diag.offset, 0);
  assert_int_equal(verify_copy(good, 8, &diag), ETX_BAD_FILE);
  assert_says(&diag, "a reference points to byte 20 of 8");
}

static void a_buffer_has_at_most_2_gigabytes(void** state) {
  const etx_fb_buffer buffer = {good, (uint32_t)INT32_MAX + 1};
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  assert_int_equal(etx_fb_verify(&buffer, &small, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "the buffer has 2147483648 bytes, at most 2147483647");
}

// Each level refers to the next one twice, so following every reference would
// visit 2^40 tables.
static void shared_tables_cannot_cause_endless_work(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  etx_fb_ref ref = node_of(&it, TEXT, 0);
  for (int level = 0; level < 40; ++level) {
    const size_t refs = etx_fb_builder_reserve_refs(&it.b, 2);
    etx_fb_builder_set_ref(&it.b, refs, 0, ref);
    etx_fb_builder_set_ref(&it.b, refs, 1, ref);
    ref = node_of(&it, CHILDREN, etx_fb_builder_table_vector(&it.b, refs, 2));
  }
  assert_int_equal(verify(&it, ref, 0, &diag), ETX_BAD_FILE);
  assert_says(&diag, "there are more than 1000000 tables");
}

// Verifies a root with a list of `count` tables without fields: each a table of
// its own, which takes 8 bytes with its reference, or all the same one.
static etx_status verify_list(size_t count, bool is_shared, etx_diag* diag) {
  const size_t bytes = count * 12 + 128;  // with the stack of references
  built it;
  etx_bytes_mut space = {malloc(bytes), bytes};
  assert_non_null(space.data);
  etx_fb_builder_init(&it.b, space);
  const size_t refs = etx_fb_builder_reserve_refs(&it.b, count);
  etx_fb_ref ref = node_of(&it, TEXT, 0);
  for (size_t i = 0; i < count; ++i) {
    etx_fb_builder_set_ref(&it.b, refs, i, ref);
    if (!is_shared && i + 1 < count) ref = node_of(&it, TEXT, 0);
  }
  const etx_fb_ref list = etx_fb_builder_table_vector(&it.b, refs, count);
  const etx_status status = verify(&it, node_of(&it, CHILDREN, list), 0, diag);
  free(space.data);
  return status;
}

static void large_buffers_may_have_more_tables(void** state) {
  etx_diag diag;
  (void)state;
  assert_ok(verify_list(1200000, false, &diag));
  assert_int_equal(verify_list(1200000, true, &diag), ETX_BAD_FILE);
  assert_says(&diag, "there are more than 1000000 tables");
  assert_int_equal(verify_list(3000000, true, &diag), ETX_BAD_FILE);
  assert_says(&diag, "there are more than 1500005 tables");
}

// Files of newer versions may have fields that this schema does not know.
static void fields_that_the_schema_does_not_know_are_skipped(void** state) {
  built it;
  etx_diag diag;
  (void)state;
  begin(&it);
  assert_ok(
      verify(&it,
             node_of(&it, FIELD_COUNT + 2,
                     etx_fb_builder_string(&it.b, etx_text_of("unknown"))),
             0, &diag));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_table_is_accepted),
      cmocka_unit_test(each_damage_is_refused_with_its_reason),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(the_stated_size_of_a_table_is_ignored),
      cmocka_unit_test(members_of_a_union_are_verified),
      cmocka_unit_test(a_member_without_a_value_is_left_to_the_reader),
      cmocka_unit_test(every_table_of_a_vector_is_verified),
      cmocka_unit_test(wide_elements_must_be_aligned),
      cmocka_unit_test(nesting_has_a_limit),
      cmocka_unit_test(the_number_of_tables_has_a_limit),
      cmocka_unit_test(tables_with_a_known_vtable_count_towards_the_limit),
      cmocka_unit_test(tables_with_a_known_vtable_count_towards_the_depth),
      cmocka_unit_test(a_table_with_a_known_vtable_must_end_inside_the_file),
      cmocka_unit_test(a_table_with_a_known_vtable_ends_with_its_fields),
      cmocka_unit_test(a_table_with_a_known_vtable_must_be_aligned),
      cmocka_unit_test(a_vtable_far_outside_is_no_known_one),
      cmocka_unit_test(a_message_names_the_table_that_has_the_field),
      cmocka_unit_test(the_text_of_a_second_table_is_verified),
      cmocka_unit_test(numbers_end_inside_the_buffer),
      cmocka_unit_test(a_byte_lies_behind_the_start_of_its_table),
      cmocka_unit_test(a_table_without_fields_has_a_place),
      cmocka_unit_test(a_vector_is_not_where_its_reference_is),
      cmocka_unit_test(a_vector_of_wide_elements_ends_inside_the_buffer),
      cmocka_unit_test(a_vtable_may_end_with_the_buffer),
      cmocka_unit_test(a_message_says_what_the_head_has),
      cmocka_unit_test(a_buffer_has_at_most_2_gigabytes),
      cmocka_unit_test(shared_tables_cannot_cause_endless_work),
      cmocka_unit_test(large_buffers_may_have_more_tables),
      cmocka_unit_test(fields_that_the_schema_does_not_know_are_skipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
