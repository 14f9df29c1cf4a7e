// Prints the nodes in order, one line each, and a conditional as
//
//   - out: [y]
//     type: ["float32[4]"]
//     if: c
//     then:
//       nodes:
//         - {out: a, op: ...}
//       outputs: [a]
//     else:
//       outputs: [x]
//
// A loop has `while: c`, the carried values with their initial values as
// `carry: {i: i0, c: c0}`, and `do` in place of `then` and `else`.
//
// Nested branches are handled without recursion: `branch` and `depth` are
// enough to close a branch.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_print_internal.h"

typedef struct node_printer {
  etx_ir_printer* printer;
  const etx_ir_method* method;
  uint32_t branch;  // the branch whose nodes are being printed
  size_t depth;     // conditionals around it
  bool is_empty;    // no node of the branch has been printed yet
} node_printer;

static void indent(const node_printer* n, size_t more) {
  for (size_t i = 0; i < 3 * n->depth + more; ++i) {
    etx_ir_put_string(n->printer, "  ");
  }
}

// ---------------------------------------------------------------- joins

// Prints one value of each join of a conditional: argument `argument`, or for
// ETX_JOIN_TOKEN the output.
static void put_joined(const node_printer* n, uint32_t cond, size_t argument) {
  bool is_first = true;
  etx_ir_put_string(n->printer, "[");
  for (size_t i = 0; i < n->method->node_count; ++i) {
    const etx_ir_node* const node = &n->method->nodes[i];
    if (!etx_ir_is_join(node) || node->cond != cond) continue;
    if (!is_first) etx_ir_put_string(n->printer, ", ");
    is_first = false;
    etx_ir_put_value(n->printer, argument == ETX_JOIN_TOKEN
                                     ? node->outputs[0]
                                     : node->args[argument].as.value);
  }
  etx_ir_put_string(n->printer, "]\n");
}

static void put_types(const node_printer* n, uint32_t cond) {
  bool is_first = true;
  etx_ir_put_string(n->printer, "[");
  for (size_t i = 0; i < n->method->node_count; ++i) {
    const etx_ir_node* const node = &n->method->nodes[i];
    if (!etx_ir_is_join(node) || node->cond != cond) continue;
    const etx_ir_value* const value = &n->method->values[node->outputs[0]];
    if (!is_first) etx_ir_put_string(n->printer, ", ");
    is_first = false;
    if (value->has_shape) {
      etx_ir_put_type(n->printer, &value->shape);
    } else {
      etx_ir_put_string(n->printer, "null");
    }
  }
  etx_ir_put_string(n->printer, "]\n");
}

// ---------------------------------------------------------------- branches

// The initial value of a carried value of a loop; the value itself after the
// pass that makes copies of carries.
static uint32_t initial_value(const node_printer* n, uint32_t carried) {
  const etx_ir_value* const value = &n->method->values[carried];
  if (value->origin != ETX_IR_FROM_NODE) return carried;
  const etx_ir_node* const node = &n->method->nodes[value->index];
  return etx_ir_is_carry(node) ? node->args[0].as.value : carried;
}

// Prints the carried values in the order of the joins. A carried value that the
// body never changes may have no join any more; it is printed as a node.
static void put_carried(const node_printer* n, const etx_ir_node* head) {
  const etx_ir_method* const method = n->method;
  const char* separator = "";
  indent(n, 2);
  etx_ir_put_string(n->printer, "carry: {");
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (!etx_ir_is_join(node) || node->cond != head->cond) continue;
    const uint32_t carried = node->args[ETX_JOIN_ELSE].as.value;
    etx_ir_put_string(n->printer, separator);
    etx_ir_put_value(n->printer, carried);
    etx_ir_put_string(n->printer, ": ");
    etx_ir_put_value(n->printer, initial_value(n, carried));
    separator = ", ";
  }
  etx_ir_put_string(n->printer, "}\n");
}

static void put_head(const node_printer* n, const etx_ir_node* head) {
  indent(n, 1);
  etx_ir_put_string(n->printer, "- out: ");
  put_joined(n, head->cond, ETX_JOIN_TOKEN);
  indent(n, 2);
  etx_ir_put_string(n->printer, "type: ");
  put_types(n, head->cond);
  indent(n, 2);
  etx_ir_put_string(n->printer,
                    etx_ir_is_loop(n->method, head->cond) ? "while: " : "if: ");
  if (head->args[0].kind == ETX_IR_ARG_VALUE) {
    etx_ir_put_value(n->printer, head->args[0].as.value);
  } else {
    etx_ir_put_symbolic(n->printer, head->args[0].as.integer);
  }
  etx_ir_put_string(n->printer, "\n");
  if (etx_ir_is_loop(n->method, head->cond)) put_carried(n, head);
}

static void open_branch(node_printer* n, uint32_t branch) {
  const bool is_then = branch == etx_ir_then_branch(etx_ir_cond_of(branch));
  indent(n, 2);
  const bool is_loop = etx_ir_is_loop(n->method, etx_ir_cond_of(branch));
  etx_ir_put_string(n->printer, is_loop   ? "do:\n"
                                : is_then ? "then:\n"
                                          : "else:\n");
  n->branch = branch;
  ++n->depth;
  n->is_empty = true;
}

// Ends the present branch with its `outputs`. After a first branch, the second
// branch is opened.
static void close_branch(node_printer* n) {
  const uint32_t branch = n->branch;
  const uint32_t cond = etx_ir_cond_of(branch);
  const bool is_then = branch == etx_ir_then_branch(cond);
  indent(n, 0);
  etx_ir_put_string(n->printer, "outputs: ");
  put_joined(n, cond, is_then ? ETX_JOIN_THEN : ETX_JOIN_ELSE);
  --n->depth;
  n->branch = etx_ir_branch_parent(n->method, branch);
  n->is_empty = false;
  if (is_then && !etx_ir_is_loop(n->method, cond)) {
    open_branch(n, etx_ir_else_branch(cond));
  }
}

// Closes branches until the present one is `branch`.
static void enter_branch(node_printer* n, uint32_t branch) {
  while (n->branch != branch && n->branch != 0) close_branch(n);
}

// True if a join gives the carried value its next one, so that the head prints
// it.
static bool is_joined(const node_printer* n, const etx_ir_node* carry) {
  for (size_t i = 0; i < n->method->node_count; ++i) {
    const etx_ir_node* const node = &n->method->nodes[i];
    if (etx_ir_is_join(node) &&
        node->args[ETX_JOIN_ELSE].as.value == carry->outputs[0]) {
      return true;
    }
  }
  return false;
}

static void put_next(node_printer* n, const etx_ir_node* node) {
  enter_branch(n, node->branch);
  if (etx_ir_is_join(node) || (etx_ir_is_carry(node) && is_joined(n, node))) {
    return;
  }
  if (n->is_empty) {
    indent(n, 0);
    etx_ir_put_string(n->printer, "nodes:\n");
    n->is_empty = false;
  }
  if (etx_ir_is_head(node)) {
    put_head(n, node);
    open_branch(n, etx_ir_then_branch(node->cond));
    return;
  }
  indent(n, 1);
  etx_ir_put_string(n->printer, "- ");
  etx_ir_put_node(n->printer, node);
}

void etx_ir_put_nodes(etx_ir_printer* p) {
  node_printer n = {p, p->method, 0, 0, true};
  for (size_t i = 0; i < p->method->node_count; ++i) {
    put_next(&n, &p->method->nodes[i]);
  }
  enter_branch(&n, 0);
}
