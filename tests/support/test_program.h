// Tiny programs built in memory, for tests.
//
//   test_program* p = test_program_new();
//   test_method(p, "add_one");
//   const int t = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3));
//   const int x = test_input(p, t, "x");
//   ...
//   test_call(p, "aten::add", "out", ARGS(x, one, alpha, y, y));
//   etx_bytes file = test_file(p);
//
// A mistake in the test, such as too many values, aborts it. All memory belongs
// to the test_program; test_program_end frees it.

#ifndef ETX_TESTS_SUPPORT_TEST_PROGRAM_H
#define ETX_TESTS_SUPPORT_TEST_PROGRAM_H

#include "format/base/size_limits.h"
#include "format/cache_table/cache_table.h"
#include "format/pte/etx_blob.h"
#include "format/pte_writer/pte_writer.h"

typedef struct test_sizes {
  int32_t at[ETX_MAX_RANK];
  uint8_t rank;
} test_sizes;

#define TEST_COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define SIZES(...) \
  ((test_sizes){{__VA_ARGS__}, (uint8_t)TEST_COUNT(__VA_ARGS__)})
#define SCALAR_SIZES ((test_sizes){{0}, 0})
// Value indices: pointer and count.
#define ARGS(...) (const int[]){__VA_ARGS__}, TEST_COUNT(__VA_ARGS__)

typedef struct test_program test_program;

test_program* test_program_new(void);
void test_program_end(test_program* p);

// Starts another method; later calls add to it.
void test_method(test_program* p, const char* name);
// Sets the bytes of arenas 1 and 2 of the method. test_arena adds another
// arena.
void test_arenas(test_program* p, int64_t scratch, int64_t state);
void test_arena(test_program* p, int64_t bytes);
// Puts an arena of the method on a device; 0 is the CPU.
void test_device(test_program* p, int arena, int device_type);

// Add a value and return its index.
int test_none(test_program* p);
int test_int(test_program* p, int64_t value);
int test_bool(test_program* p, bool value);
int test_double(test_program* p, double value);
int test_string(test_program* p, const char* value);
int test_ints(test_program* p, const int* items, size_t count);
int test_doubles(test_program* p, const double* items, size_t count);
int test_bools(test_program* p, const uint8_t* items, size_t count);
int test_tensors(test_program* p, const int* items, size_t count);
int test_optional_tensors(test_program* p, const int* items, size_t count);
// A tensor without memory of its own: an input, a view, an empty slot.
int test_borrowed(test_program* p, etx_dtype dtype, test_sizes sizes);
int test_planned(test_program* p, etx_dtype dtype, test_sizes sizes,
                 uint32_t memory_id, uint64_t offset);
int test_scratch(test_program* p, etx_dtype dtype, test_sizes sizes,
                 uint64_t offset);
int test_state(test_program* p, const char* name, etx_dtype dtype,
               test_sizes sizes, uint64_t offset);
int test_constant(test_program* p, etx_dtype dtype, test_sizes sizes,
                  uint32_t data_index);
// Makes the tensor dynamic: its sizes are bounds.
int test_dynamic(test_program* p, int value);
// Gives a planned tensor initial data.
int test_initial(test_program* p, int value, uint32_t data_index);
// The tensor itself, to be changed.
etx_pte_tensor* test_tensor_of(test_program* p, int value);

// Add constants and initial data, and return their index. Data is copied.
uint32_t test_data(test_program* p, const void* data, size_t bytes);
uint32_t test_initial_data(test_program* p, const void* data, size_t bytes);

// Make a value an input or an output of the method, and return `value`.
int test_input(test_program* p, int value, const char* name);
// Number of inputs so far.
uint32_t test_input_count(test_program* p);
int test_mutable_input(test_program* p, int value, const char* name);
int test_output(test_program* p, int value, const char* name);
// Sets how long the last output stays.
void test_lifetime(test_program* p, etx_blob_lifetime lifetime);
// An output that shows the new content of an input.
int test_shown(test_program* p, int value, const char* name, int input);

// Instructions.
void test_call(test_program* p, const char* name, const char* overload,
               const int* arguments, size_t count);
// Lists an operator that no instruction calls.
void test_operator(test_program* p, const char* name, const char* overload);
void test_move(test_program* p, int from, int to);
void test_jump_false(test_program* p, int condition, int destination);
void test_release(test_program* p, int value);
void test_delegate(test_program* p, const char* id);
// Lists a delegate that no instruction calls.
void test_listed_delegate(test_program* p, const char* id);
void test_next_chain(test_program* p);

// The blob. Without test_blob the file is a stock one.
void test_blob(test_program* p);
uint32_t test_symbol(test_program* p, const char* name, int64_t minimum,
                     int64_t maximum);
void test_dim(test_program* p, uint32_t input, int32_t dim, uint32_t symbol,
              int64_t factor, int64_t offset);
void test_view(test_program* p, int value, int base, uint64_t offset);
// The place of a value in another layout of arena 1; rows in order.
void test_place(test_program* p, int value, uint32_t layout, uint64_t offset,
                uint64_t bytes);
// States in ascending order of name.
etx_blob_state* test_state_row(test_program* p, const char* name,
                               etx_dtype dtype, test_sizes sizes,
                               uint64_t offset, uint32_t data_index);
// Methods that may run at the same time, by position; pairs in order.
void test_concurrent(test_program* p, uint32_t first, uint32_t second);
void test_fingerprint(test_program* p, uint8_t first_byte);
// Other named data, such as a damaged table. Data is copied.
void test_named(test_program* p, const char* key, const void* data,
                size_t bytes);
// Describes the last method in the blob although it has no instruction.
void test_described(test_program* p);
// Does not describe it, although it has instructions.
void test_undescribed(test_program* p);
// The table of caches, which names states by their position.
void test_caches(test_program* p, const etx_cache* caches, size_t count);

// Writes the program; the bytes are aligned and live as long as `p`.
etx_bytes test_file(test_program* p);

#endif
