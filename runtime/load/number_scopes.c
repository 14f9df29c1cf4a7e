// A number can be computed before the run if one record computes it and every
// run that reaches a use has passed that record. Otherwise a use may see what
// the file, an earlier run or another record left in the slot.
//
// Jumps forward skip the records between them and their destination. Such a
// skipped part ends at the destination; parts may be nested. A record within a
// part is passed by all runs that reach a later record of the same innermost
// part, unless a jump leads from outside into the middle of the part. Exporters
// write no such jumps; for a file that has one, all records are prepared during
// the run.
//
//   record      0   1   2   3   4   5   6
//               J---------------->|          part of J ends at 5
//                       n                    n is computed here,
//                           u                may be used here,
//                                   x        and is late if it is used here
//
// The open parts are a list through the records of their jumps, the one that
// ends first in front. Each has a list of the numbers that are computed while
// it is in front. Both lists, and the end of the part around each record, are
// in fields that have no other use before records are prepared.

#include "runtime/load/number_scopes.h"

// Parts that are open at once; the time to insert one is bounded by it.
enum { MAX_OPEN_PARTS = 64 };

typedef struct number_scopes {
  etx_method* method;
  uint32_t front;  // jump whose part ends first, or ETX_NO_INDEX
} number_scopes;

static etx_method_record* record_at(const number_scopes* s, uint32_t index) {
  return &s->method->records[index];
}

// Destination of a jump among all records.
static uint32_t end_of(const number_scopes* s, uint32_t jump) {
  const etx_method_record* record = record_at(s, jump);
  return jump - record->instruction + record->to;
}

// Where the innermost part around a record ends. The field is written by
// `prepare` only.
static size_t* end_around(etx_method_record* record) {
  return &record->call.temporary_bytes;
}

// The next open part, and the last number computed in a part, or ETX_NO_INDEX.
static int64_t* next_part(etx_method_record* jump) {
  return &jump->call.prepared[0];
}
static int64_t* last_number(etx_method_record* jump) {
  return &jump->call.prepared[1];
}

static void make_late(number_scopes* s, const etx_value* value) {
  s->method->marks[value->position] |= ETX_MARK_LATE | ETX_MARK_STAYS_LATE;
  s->method->flow |= ETX_FLOW_LATE;
}

static void use(number_scopes* s, const etx_value* value) {
  if (value->kind == ETX_VALUE_TENSOR) return;
  uint8_t* marks = &s->method->marks[value->position];
  *marks |= ETX_MARK_USED;
  if ((*marks & ETX_MARK_CLOSED) != 0) make_late(s, value);
}

static void compute(number_scopes* s, uint32_t index) {
  etx_method_record* record = record_at(s, index);
  const etx_value* value = &s->method->values[record->slot];
  uint8_t* marks = &s->method->marks[value->position];
  if ((*marks & (ETX_MARK_USED | ETX_MARK_COMPUTED)) != 0) make_late(s, value);
  *marks |= ETX_MARK_COMPUTED;
  if (s->front == ETX_NO_INDEX) return;
  int64_t* last = last_number(record_at(s, s->front));
  record->to = (uint32_t)*last;
  *last = index;
}

static void close_part(number_scopes* s) {
  etx_method_record* jump = record_at(s, s->front);
  uint32_t number = (uint32_t)*last_number(jump);
  while (number != ETX_NO_INDEX) {
    const etx_method_record* record = record_at(s, number);
    s->method->marks[record->slot] |= ETX_MARK_CLOSED;
    number = record->to;
  }
  s->front = (uint32_t)*next_part(jump);
}

static void open_part(number_scopes* s, uint32_t index) {
  etx_method_record* jump = record_at(s, index);
  const uint32_t end = end_of(s, index);
  uint32_t before = ETX_NO_INDEX;
  uint32_t after = s->front;
  for (size_t i = 0; after != ETX_NO_INDEX && end_of(s, after) < end; ++i) {
    if (i == MAX_OPEN_PARTS) {
      s->method->flow |= ETX_FLOW_ALL_LATE;
      return;
    }
    before = after;
    after = (uint32_t)*next_part(record_at(s, after));
  }
  *next_part(jump) = after;
  *last_number(jump) = ETX_NO_INDEX;
  if (before == ETX_NO_INDEX) {
    s->front = index;
  } else {
    *next_part(record_at(s, before)) = index;
  }
}

static void visit_jump(number_scopes* s, uint32_t index) {
  const uint32_t to = end_of(s, index);
  use(s, &s->method->values[record_at(s, index)->from]);
  if (to > index) {
    open_part(s, index);
  } else if (*end_around(record_at(s, to)) <= index) {
    s->method->flow |= ETX_FLOW_ALL_LATE;  // it leads into a part
  }
}

static void visit_call(number_scopes* s, uint32_t index) {
  const etx_method_record* record = record_at(s, index);
  const bool has_number = record->kind == ETX_RECORD_SCALAR;
  const size_t count = record->call.argument_count - (has_number ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL) use(s, *values.at);
    }
  }
  if (has_number) compute(s, index);
}

static void visit(number_scopes* s, uint32_t index) {
  etx_method_record* record = record_at(s, index);
  while (s->front != ETX_NO_INDEX && end_of(s, s->front) <= index) {
    close_part(s);
  }
  *end_around(record) =
      s->front == ETX_NO_INDEX ? SIZE_MAX : end_of(s, s->front);
  switch (record->kind) {
    case ETX_RECORD_MOVE:
      use(s, &s->method->values[record->from]);
      return;
    case ETX_RECORD_JUMP:
      visit_jump(s, index);
      return;
    case ETX_RECORD_FREE:
      return;
    default:
      visit_call(s, index);
  }
}

static void use_output(number_scopes* s, const etx_value* value) {
  use(s, value);
  if (value->kind != ETX_VALUE_INTS) return;
  for (size_t i = 0; i < value->as.integers.count; ++i) {
    use(s, value->as.integers.items[i]);
  }
}

void etx_method_find_late_numbers(etx_method* method) {
  number_scopes s = {method, ETX_NO_INDEX};
  for (size_t i = 0; i < method->input_count; ++i) {
    const uint32_t value = method->inputs[i].value;
    if (method->values[value].kind == ETX_VALUE_TENSOR) continue;
    method->marks[value] |= ETX_MARK_COMPUTED;
  }
  for (size_t i = 0; i < method->record_count; ++i) visit(&s, (uint32_t)i);
  while (s.front != ETX_NO_INDEX) close_part(&s);
  for (size_t i = 0; i < method->output_count; ++i) {
    use_output(&s, method->outputs[i]);
  }
}
