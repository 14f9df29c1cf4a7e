// Programs for tests, and what tests do with bytes.
//
// The first program holds every kind of value and of instruction, named data,
// initial data, a delegate and etx's blob. tests/format/golden/sample.json says
// the same in the words of the schema.

#ifndef ETX_TESTS_FORMAT_SAMPLE_PROGRAM_H
#define ETX_TESTS_FORMAT_SAMPLE_PROGRAM_H

#include "format/pte/etx_blob.h"
#include "format/pte/pte_writer.h"

// Values of the sample's method "forward", by index.
enum {
  SAMPLE_NULL,
  SAMPLE_INT,
  SAMPLE_BOOL,
  SAMPLE_DOUBLE,
  SAMPLE_STRING,
  SAMPLE_INPUT,     // float32 [2, 3], planned, dynamic
  SAMPLE_CONSTANT,  // float32 [2, 3]
  SAMPLE_STATE,     // int64 [2], arena 2, named
  SAMPLE_TRAINED,   // float32 [], arena 1, with initial data
  SAMPLE_EXTERNAL,  // uint8 [0], data in another file
  SAMPLE_TURNED,    // float32 [2, 3], dim order 1 0, no memory
  SAMPLE_INT_LIST,
  SAMPLE_DOUBLE_LIST,
  SAMPLE_BOOL_LIST,
  SAMPLE_TENSOR_LIST,
  SAMPLE_OPTIONAL_LIST,
  SAMPLE_VALUE_COUNT
};

// Values of the runnable sample's method, by index.
enum {
  RUN_INPUT,     // float32 [2, 3], arena 1
  RUN_CONSTANT,  // float32 [2, 3]
  RUN_STATE,     // float32 [2, 3], arena 2
  RUN_SUM,       // float32 [2, 3], arena 1
  RUN_OUTPUT,    // the input's bytes again
  RUN_ONE,       // Int
  RUN_FALSE,     // Bool
  RUN_VALUE_COUNT
};
// Its instructions, and its operators in the same order.
enum { RUN_ADD, RUN_MULTIPLY, RUN_COPY, RUN_INSTRUCTION_COUNT };

// The sample: methods "forward", "second" and "answer" (a constant method).
// Lives as long as the process.
const etx_pte_content* sample_content(void);

// A program that a runtime can run: "forward" computes output = (input +
// constant) * state and copies output to state. One method, portable
// operators only.
const etx_pte_content* sample_runnable_content(void);

// The content of the blob of sample_content.
const etx_blob_content* sample_blob_content(void);

// Writes a program into memory of its own (malloc, aligned to 16), exactly as
// long as the file. Fails the test if the writer does.
etx_bytes_mut sample_write(const etx_pte_content* content);

// A copy that is exactly as long, so that sanitizers see a read past its end.
etx_bytes_mut sample_copy(etx_bytes bytes);

// Reads a file into memory of its own.
etx_bytes_mut sample_read_file(const char* path);

// Gives back what one of the above has handed out.
void sample_release(etx_bytes_mut bytes);

static inline etx_bytes sample_view(etx_bytes_mut bytes) {
  const etx_bytes view = {bytes.data, bytes.size};
  return view;
}

#endif
