// Fields are numbered as in onnx/onnx.proto (https://github.com/onnx/onnx).

#include "cli/graph/graph_onnx.h"

#include "cli/graph/protobuf_wire.h"
#include "format/tensor/layout.h"

// Fields of ModelProto and the messages in it.
enum {
  MODEL_IR_VERSION = 1,
  MODEL_PRODUCER = 2,
  MODEL_GRAPH = 7,
  MODEL_OPSET = 8,
  OPSET_DOMAIN = 1,
  OPSET_VERSION = 2,
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_INITIALIZER = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_VALUE_INFO = 13,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_NAME = 3,
  NODE_OPERATOR = 4,
  NODE_ATTRIBUTE = 5,
  NODE_DOC = 6,
  NODE_DOMAIN = 7,
  ATTRIBUTE_NAME = 1,
  ATTRIBUTE_FLOAT = 2,
  ATTRIBUTE_INTEGER = 3,
  ATTRIBUTE_STRING = 4,
  ATTRIBUTE_FLOATS = 7,
  ATTRIBUTE_INTEGERS = 8,
  ATTRIBUTE_TYPE = 20,
  VALUE_NAME = 1,
  VALUE_TYPE = 2,
  TYPE_TENSOR = 1,
  TENSOR_TYPE_ELEMENT = 1,
  TENSOR_TYPE_SHAPE = 2,
  SHAPE_DIM = 1,
  DIM_VALUE = 1,
  TENSOR_DIM = 1,
  TENSOR_ELEMENT = 2,
  TENSOR_NAME = 8,
  TENSOR_EXTERNAL = 13,
  TENSOR_LOCATION = 14,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2,
};
enum { IR_VERSION = 8, LOCATION_EXTERNAL = 1 };

// AttributeProto.AttributeType
enum {
  IS_FLOAT = 1,
  IS_INTEGER = 2,
  IS_STRING = 3,
  IS_FLOATS = 6,
  IS_INTEGERS = 7
};

// TensorProto.DataType by dtype. Types that ONNX lacks have none.
static const uint8_t onnx_types[ETX_DTYPE_COUNT] = {
    [ETX_DTYPE_FLOAT32] = 1,
    [ETX_DTYPE_UINT8] = 2,
    [ETX_DTYPE_INT8] = 3,
    [ETX_DTYPE_UINT16] = 4,
    [ETX_DTYPE_INT16] = 5,
    [ETX_DTYPE_INT32] = 6,
    [ETX_DTYPE_INT64] = 7,
    [ETX_DTYPE_BOOL] = 9,
    [ETX_DTYPE_FLOAT16] = 10,
    [ETX_DTYPE_FLOAT64] = 11,
    [ETX_DTYPE_UINT32] = 12,
    [ETX_DTYPE_UINT64] = 13,
    [ETX_DTYPE_COMPLEX64] = 14,
    [ETX_DTYPE_COMPLEX128] = 15,
    [ETX_DTYPE_BFLOAT16] = 16,
    [ETX_DTYPE_FLOAT8_E4M3FN] = 17,
    [ETX_DTYPE_FLOAT8_E4M3FNUZ] = 18,
    [ETX_DTYPE_FLOAT8_E5M2] = 19,
    [ETX_DTYPE_FLOAT8_E5M2FNUZ] = 20};

static const char domain[] = "etx.program";
enum { NAME_BYTES = 512, MOST_NAME = 200, MOST_PARENTS = 64 };

// What is known of a method's values while its steps are written in order.
typedef struct onnx_method {
  etx_graph_method* graph;
  uint32_t* versions;  // by value: how often it was written; inputs start at 1
  bool* is_outside;    // by value: read before any step wrote it
  bool* is_weight;     // by value: a constant that is read
} onnx_method;

typedef struct onnx_program {
  const etx_memory_map* map;
  const etx_graph_onnx_source* source;
  onnx_method* methods;
} onnx_program;

// A thing of a method that is being written: a value or a step.
typedef struct onnx_item {
  const onnx_program* program;
  const onnx_method* method;
  uint32_t index;
  uint32_t version;
} onnx_item;

// ---- names

// Writes "encode/ids #0 (2)".
static etx_text name_of(const onnx_item* item, char out[NAME_BYTES]) {
  const etx_verify_method* const m = item->method->graph->program;
  const bool is_alone = item->program->map->method_count == 1;
  etx_text name = item->method->graph->names[item->index];
  if (name.size > MOST_NAME) name.size = MOST_NAME;
  size_t size = 0;
  if (!is_alone) size += etx_format_text(out, MOST_NAME, "%t/", m->name);
  size += etx_format_text(out + size, NAME_BYTES - size, "%t%s#%u", name,
                          name.size == 0 ? "" : " ", (uint64_t)item->index);
  if (item->version == 0) {
    size += etx_format_text(out + size, NAME_BYTES - size, " (before)");
  } else if (item->version > 1) {
    size += etx_format_text(out + size, NAME_BYTES - size, " (%u)",
                            (uint64_t)item->version);
  }
  return (etx_text){out, size};
}

static void put_name(etx_protobuf_wire* wire, uint32_t field,
                     const onnx_item* item) {
  char text[NAME_BYTES];
  etx_protobuf_put_text(wire, field, name_of(item, text));
}

static bool is_weight(const etx_verify_method* m, uint32_t value) {
  if (m->values[value].storage != ETX_VERIFY_STORAGE_CONSTANT) return false;
  const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, value).as.tensor;
  return tensor.location != ETX_PTE_EXTERNAL && onnx_types[tensor.dtype] != 0 &&
         etx_layout_is_default(tensor.dim_order, tensor.rank);
}

// Writes the name of what a step reads from `value`: of its last content, or of
// the last content of what it is a view of.
static void put_read_one(etx_protobuf_wire* wire, uint32_t field,
                         const onnx_item* item) {
  const onnx_method* const method = item->method;
  const etx_verify_method* const m = method->graph->program;
  onnx_item read = *item;
  for (size_t i = 0; i < MOST_PARENTS && method->versions[read.index] == 0 &&
                     m->values[read.index].parent != ETX_VERIFY_NONE;
       ++i) {
    read.index = m->values[read.index].parent;
  }
  read.version = method->versions[read.index];
  if (read.version == 0) {
    if (is_weight(m, read.index)) {
      method->is_weight[read.index] = true;
      read.version = 1;
    } else {
      method->is_outside[read.index] = true;
    }
  }
  put_name(wire, field, &read);
}

// The same for each part of a value that no step wrote as a whole.
static void put_read(etx_protobuf_wire* wire, uint32_t field,
                     const onnx_item* item) {
  const onnx_method* const method = item->method;
  const etx_verify_method* const m = method->graph->program;
  const etx_verify_value* const value = &m->values[item->index];
  if (method->versions[item->index] != 0 || value->part_count == 0) {
    put_read_one(wire, field, item);
    return;
  }
  for (uint32_t i = 0; i < value->part_count; ++i) {
    onnx_item part = *item;
    part.index = m->parts[value->first_part + i];
    put_read_one(wire, field, &part);
  }
}

// ---- types

static void put_dim(etx_protobuf_wire* wire, void* context) {
  etx_protobuf_put_integer(wire, DIM_VALUE, *(const int32_t*)context);
}

static void put_shape(etx_protobuf_wire* wire, void* context) {
  const etx_pte_tensor* const tensor = context;
  for (size_t i = 0; i < tensor->rank; ++i) {
    int32_t size = tensor->sizes[i];
    etx_protobuf_put_message(wire, SHAPE_DIM, put_dim, &size);
  }
}

static void put_tensor_type(etx_protobuf_wire* wire, void* context) {
  const etx_pte_tensor* const tensor = context;
  etx_protobuf_put_integer(wire, TENSOR_TYPE_ELEMENT,
                           onnx_types[tensor->dtype]);
  etx_protobuf_put_message(wire, TENSOR_TYPE_SHAPE, put_shape, context);
}

static void put_type(etx_protobuf_wire* wire, void* context) {
  etx_protobuf_put_message(wire, TYPE_TENSOR, put_tensor_type, context);
}

// ValueInfoProto. A number is a tensor without dimensions.
static void put_value_info(etx_protobuf_wire* wire, void* context) {
  const onnx_item* const item = context;
  const etx_verify_method* const m = item->method->graph->program;
  const etx_pte_value value = etx_pte_value_at(&m->plan, item->index);
  etx_pte_tensor tensor = {.rank = 0};
  if (value.kind == ETX_PTE_TENSOR) {
    tensor = value.as.tensor;
  } else {
    tensor.dtype = value.kind == ETX_PTE_BOOL     ? ETX_DTYPE_BOOL
                   : value.kind == ETX_PTE_DOUBLE ? ETX_DTYPE_FLOAT64
                                                  : ETX_DTYPE_INT64;
  }
  put_name(wire, VALUE_NAME, item);
  etx_protobuf_put_message(wire, VALUE_TYPE, put_type, &tensor);
}

// ---- attributes

typedef struct onnx_attribute {
  const onnx_method* method;
  etx_text name;
  size_t value;
} onnx_attribute;

static void put_kind(etx_protobuf_wire* wire, int64_t kind) {
  etx_protobuf_put_integer(wire, ATTRIBUTE_TYPE, kind);
}

static void put_integers(etx_protobuf_wire* wire, const etx_pte_plan* plan,
                         const etx_pte_value* value) {
  for (size_t i = 0; i < value->as.integers.count; ++i) {
    const size_t at = (size_t)value->as.integers.items[i];
    etx_protobuf_put_integer(wire, ATTRIBUTE_INTEGERS,
                             etx_pte_value_at(plan, at).as.integer);
  }
  put_kind(wire, IS_INTEGERS);
}

// AttributeProto of an argument that is not a tensor.
static void put_attribute(etx_protobuf_wire* wire, void* context) {
  const onnx_attribute* const attribute = context;
  const etx_pte_plan* const plan = &attribute->method->graph->program->plan;
  const etx_pte_value value = etx_pte_value_at(plan, attribute->value);
  etx_protobuf_put_text(wire, ATTRIBUTE_NAME, attribute->name);
  switch (value.kind) {
    case ETX_PTE_INT:
      etx_protobuf_put_integer(wire, ATTRIBUTE_INTEGER, value.as.integer);
      put_kind(wire, IS_INTEGER);
      break;
    case ETX_PTE_BOOL:
      etx_protobuf_put_integer(wire, ATTRIBUTE_INTEGER, value.as.boolean);
      put_kind(wire, IS_INTEGER);
      break;
    case ETX_PTE_DOUBLE:
      etx_protobuf_put_float(wire, ATTRIBUTE_FLOAT, (float)value.as.real);
      put_kind(wire, IS_FLOAT);
      break;
    case ETX_PTE_STRING:
      etx_protobuf_put_bytes(wire, ATTRIBUTE_STRING, value.as.string);
      put_kind(wire, IS_STRING);
      break;
    case ETX_PTE_INT_LIST:
      put_integers(wire, plan, &value);
      break;
    case ETX_PTE_DOUBLE_LIST:
      for (size_t i = 0; i < value.as.reals.count; ++i) {
        etx_protobuf_put_float(wire, ATTRIBUTE_FLOATS,
                               (float)value.as.reals.items[i]);
      }
      put_kind(wire, IS_FLOATS);
      break;
    case ETX_PTE_BOOL_LIST:
      for (size_t i = 0; i < value.as.booleans.count; ++i) {
        etx_protobuf_put_integer(wire, ATTRIBUTE_INTEGERS,
                                 value.as.booleans.items[i]);
      }
      put_kind(wire, IS_INTEGERS);
      break;
    default:
      break;
  }
}

static bool has_attribute(const onnx_method* method, size_t index) {
  const etx_pte_value value =
      etx_pte_value_at(&method->graph->program->plan, index);
  switch (value.kind) {
    case ETX_PTE_NULL:
    case ETX_PTE_TENSOR:
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      return false;
    default:
      return !method->graph->varies[index];
  }
}

static void put_attributes(etx_protobuf_wire* wire, const onnx_item* item,
                           const etx_verify_step* step) {
  etx_argument_cursor cursor = etx_argument_first(step->op->arguments);
  etx_argument argument;
  for (size_t i = 0; i < step->instruction.argument_count &&
                     etx_argument_next(&cursor, &argument);
       ++i) {
    onnx_attribute attribute = {item->method, argument.name,
                                (size_t)step->instruction.arguments[i]};
    if (!has_attribute(item->method, attribute.value)) continue;
    etx_protobuf_put_message(wire, NODE_ATTRIBUTE, put_attribute, &attribute);
  }
}

// AttributeProto of the step that a jump goes to.
static void put_target(etx_protobuf_wire* wire, void* context) {
  const etx_verify_step* const step = context;
  etx_protobuf_put_text(wire, ATTRIBUTE_NAME, etx_text_of("to_step"));
  etx_protobuf_put_integer(wire, ATTRIBUTE_INTEGER, step->target);
  put_kind(wire, IS_INTEGER);
}

// ---- nodes

// "etx::linear_chain.out" is "linear_chain": viewers take what stands before a
// point for a domain and leave it out.
static etx_text short_operator(etx_text name) {
  etx_text rest = name;
  for (size_t i = 0; i + 1 < name.size; ++i) {
    if (name.data[i] == ':' && name.data[i + 1] == ':')
      rest = (etx_text){name.data + i + 2, name.size - i - 2};
  }
  for (size_t i = 1; i < rest.size; ++i) {
    if (rest.data[i] == '.') return (etx_text){rest.data, i};
  }
  return rest;
}

static void put_operator_name(etx_protobuf_wire* wire, void* context) {
  etx_protobuf_put_text(wire, ATTRIBUTE_NAME, etx_text_of("operator"));
  etx_protobuf_put_bytes(wire, ATTRIBUTE_STRING, *(const etx_text*)context);
  put_kind(wire, IS_STRING);
}

// The source lines, and which tensor is which argument: ONNX knows the order of
// inputs alone.
static void put_doc(etx_protobuf_wire* wire, const onnx_item* item,
                    const etx_verify_step* step) {
  const etx_verify_method* const m = item->method->graph->program;
  char text[2048];
  size_t size = 0;
  char lines[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
  if (etx_instruction_source_text(item->program->source->lines, m->name,
                                  item->index, lines)) {
    size += etx_format_text(text, sizeof text, "%s; ", lines);
  }
  if (step->op != NULL) {
    etx_argument_cursor cursor = etx_argument_first(step->op->arguments);
    etx_argument argument;
    for (size_t i = 0; i < step->instruction.argument_count &&
                       etx_argument_next(&cursor, &argument);
         ++i) {
      const size_t value = (size_t)step->instruction.arguments[i];
      if (etx_pte_value_kind(&m->plan, value) != ETX_PTE_TENSOR) continue;
      size += etx_format_text(text + size, sizeof text - size, "%t: #%u ",
                              argument.name, (uint64_t)value);
    }
  }
  etx_protobuf_put_text(wire, NODE_DOC, (etx_text){text, size});
}

static const etx_memory_method* memory_method(const onnx_item* item) {
  const size_t index = (size_t)(item->method - item->program->methods);
  return &item->program->map->methods[index];
}

static void put_node(etx_protobuf_wire* wire, void* context) {
  const onnx_item* const item = context;
  etx_graph_method* const graph = item->method->graph;
  const etx_verify_method* const m = graph->program;
  etx_verify_step* const step = &m->steps[item->index];
  char text[NAME_BYTES];
  const bool is_alone = item->program->map->method_count == 1;
  onnx_item value = *item;
  for (size_t i = 0; i < graph->read_count; ++i) {
    value.index = graph->read[i];
    put_read(wire, NODE_INPUT, &value);
  }
  // A move of one branch leaves what the other one wrote, if it is skipped.
  if (step->instruction.kind == ETX_PTE_MOVE_CALL &&
      item->method->versions[step->instruction.target] != 0) {
    value.index = (uint32_t)step->instruction.target;
    put_read_one(wire, NODE_INPUT, &value);
  }
  for (size_t i = 0; i < graph->written_count; ++i) {
    value.index = graph->written[i];
    value.version = item->method->versions[value.index] + 1;
    put_name(wire, NODE_OUTPUT, &value);
  }
  size_t size = etx_format_text(text, sizeof text, "%t%s%u",
                                is_alone ? etx_text_of("") : m->name,
                                is_alone ? "" : "/", (uint64_t)item->index);
  etx_protobuf_put_text(wire, NODE_NAME, (etx_text){text, size});
  if (graph->read_count + graph->written_count == 0) {
    // A jump that is always taken. ONNX wants at least one value.
    size += etx_format_text(text + size, sizeof text - size, " done");
    etx_protobuf_put_text(wire, NODE_OUTPUT, (etx_text){text, size});
  }
  etx_text name =
      etx_memory_step_name(memory_method(item), item->index, text, sizeof text);
  etx_protobuf_put_text(wire, NODE_OPERATOR, short_operator(name));
  etx_protobuf_put_message(wire, NODE_ATTRIBUTE, put_operator_name, &name);
  if (step->instruction.kind == ETX_PTE_JUMP_FALSE_CALL)
    etx_protobuf_put_message(wire, NODE_ATTRIBUTE, put_target, step);
  if (step->op != NULL) put_attributes(wire, item, step);
  put_doc(wire, item, step);
  etx_protobuf_put_text(wire, NODE_DOMAIN, etx_text_of(domain));
}

// ---- weights

typedef struct onnx_entry {
  const char* key;
  etx_text value;
} onnx_entry;

static void put_entry(etx_protobuf_wire* wire, void* context) {
  const onnx_entry* const entry = context;
  etx_protobuf_put_text(wire, ENTRY_KEY, etx_text_of(entry->key));
  etx_protobuf_put_text(wire, ENTRY_VALUE, entry->value);
}

static void put_number_entry(etx_protobuf_wire* wire, const char* key,
                             uint64_t number) {
  char digits[24];
  const size_t size = etx_format_text(digits, sizeof digits, "%u", number);
  onnx_entry entry = {key, {digits, size}};
  etx_protobuf_put_message(wire, TENSOR_EXTERNAL, put_entry, &entry);
}

// TensorProto of a constant.
static void put_weight(etx_protobuf_wire* wire, void* context) {
  const onnx_item* const item = context;
  const onnx_program* const program = item->program;
  const etx_verify_method* const m = item->method->graph->program;
  const etx_pte_tensor tensor =
      etx_pte_value_at(&m->plan, item->index).as.tensor;
  const etx_bytes data = etx_pte_constant(m->pte, tensor.data_buffer_index);
  for (size_t i = 0; i < tensor.rank; ++i) {
    etx_protobuf_put_integer(wire, TENSOR_DIM, tensor.sizes[i]);
  }
  etx_protobuf_put_integer(wire, TENSOR_ELEMENT, onnx_types[tensor.dtype]);
  put_name(wire, TENSOR_NAME, item);
  onnx_entry location = {"location", etx_text_of(program->source->file_name)};
  etx_protobuf_put_message(wire, TENSOR_EXTERNAL, put_entry, &location);
  put_number_entry(
      wire, "offset",
      program->source->file_offset + (uint64_t)(data.data - m->pte->file.data));
  put_number_entry(wire, "length", etx_pte_tensor_bytes(&tensor));
  etx_protobuf_put_integer(wire, TENSOR_LOCATION, LOCATION_EXTERNAL);
}

// ---- the graph

static void put_method_steps(etx_protobuf_wire* wire,
                             const onnx_program* program,
                             const onnx_method* method) {
  etx_graph_method* const graph = method->graph;
  for (uint32_t s = 0; s < graph->program->step_count; ++s) {
    onnx_item item = {program, method, s, 0};
    etx_graph_step_read(graph, s);
    etx_protobuf_put_message(wire, GRAPH_NODE, put_node, &item);
    for (size_t i = 0; i < graph->written_count; ++i) {
      const uint32_t value = graph->written[i];
      onnx_item written = {program, method, value, ++method->versions[value]};
      etx_protobuf_put_message(wire, GRAPH_VALUE_INFO, put_value_info,
                               &written);
    }
  }
}

// Outputs first: what no step wrote counts as read.
static void put_method_ports(etx_protobuf_wire* wire,
                             const onnx_program* program,
                             const onnx_method* method) {
  const etx_verify_method* const m = method->graph->program;
  for (size_t i = 0; i < etx_pte_output_count(&m->plan); ++i) {
    onnx_item item = {program, method, (uint32_t)etx_pte_output_at(&m->plan, i),
                      0};
    item.version = method->versions[item.index];
    if (item.version == 0) continue;
    etx_protobuf_put_message(wire, GRAPH_OUTPUT, put_value_info, &item);
  }
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    onnx_item item = {program, method, (uint32_t)etx_pte_input_at(&m->plan, i),
                      1};
    etx_protobuf_put_message(wire, GRAPH_INPUT, put_value_info, &item);
  }
  for (uint32_t v = 0; v < m->value_count; ++v) {
    onnx_item outside = {program, method, v, 0};
    onnx_item weight = {program, method, v, 1};
    if (method->is_outside[v])
      etx_protobuf_put_message(wire, GRAPH_INPUT, put_value_info, &outside);
    if (method->is_weight[v])
      etx_protobuf_put_message(wire, GRAPH_INITIALIZER, put_weight, &weight);
  }
}

static void start_method(const onnx_method* method) {
  const etx_verify_method* const m = method->graph->program;
  for (size_t v = 0; v < m->value_count; ++v) method->versions[v] = 0;
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    method->versions[etx_pte_input_at(&m->plan, i)] = 1;
  }
}

static void put_graph(etx_protobuf_wire* wire, void* context) {
  const onnx_program* const program = context;
  for (size_t i = 0; i < program->map->method_count; ++i) {
    const onnx_method* const method = &program->methods[i];
    start_method(method);
    put_method_steps(wire, program, method);
    put_method_ports(wire, program, method);
  }
  etx_protobuf_put_text(wire, GRAPH_NAME,
                        etx_text_of(program->source->file_name));
}

static void put_opset(etx_protobuf_wire* wire, void* context) {
  (void)context;
  etx_protobuf_put_text(wire, OPSET_DOMAIN, etx_text_of(domain));
  etx_protobuf_put_integer(wire, OPSET_VERSION, 1);
}

static etx_status init_method(onnx_method* method, etx_graph_method* graph) {
  etx_verify_arena* const memory = graph->program->memory;
  const size_t count = graph->program->value_count;
  method->graph = graph;
  method->versions =
      etx_verify_arena_take(memory, count, sizeof *method->versions);
  method->is_outside =
      etx_verify_arena_take(memory, count, sizeof *method->is_outside);
  method->is_weight =
      etx_verify_arena_take(memory, count, sizeof *method->is_weight);
  return method->versions == NULL || method->is_outside == NULL ||
                 method->is_weight == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

etx_status etx_graph_onnx_print(const etx_memory_map* map,
                                const etx_graph_onnx_source* source,
                                FILE* out) {
  etx_graph_method* graphs = NULL;
  onnx_program program = {map, source, NULL};
  ETX_TRY(etx_graph_methods_init(map, &graphs));
  if (map->method_count > 0) {
    program.methods = etx_verify_arena_take(
        graphs[0].program->memory, map->method_count, sizeof *program.methods);
    if (program.methods == NULL) return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < map->method_count; ++i) {
    ETX_TRY(init_method(&program.methods[i], &graphs[i]));
  }
  etx_protobuf_wire wire = {out, 0};
  etx_protobuf_put_integer(&wire, MODEL_IR_VERSION, IR_VERSION);
  etx_protobuf_put_text(&wire, MODEL_PRODUCER, etx_text_of("etx"));
  etx_protobuf_put_message(&wire, MODEL_OPSET, put_opset, NULL);
  etx_protobuf_put_message(&wire, MODEL_GRAPH, put_graph, &program);
  return ETX_OK;
}
