// A size program has lists of what a move of blocks touches.
//
// Many blocks have the same range in every layout: layers of a model use the
// same bytes in turn. Such blocks start at the same byte at all sizes, so they
// are merged into one, which is as large as the largest of them.
//
// Each block then has a part of one array of tensors:
//
//   | decide its bytes | members in use | other members | others that use it |
//
// Of members that have equal sizes at all values of the symbols, at one place
// in the block, one decides. A move adds its distance to the addresses of all
// others: what a member has, and what the data of a value is.

#include "runtime/shapes/scratch_compaction.h"

#include "format/base/reachability.h"

// With how many found before an entry is compared, so that lists take linear
// time. An entry that is found twice costs time only.
enum { LATEST_LISTED = 8 };

// The blocks of a layout: 0 is the plan's.
static etx_layout_block* layout_at(const etx_method* method, size_t layout) {
  return method->scratch_blocks + layout * method->scratch_block_count;
}

static size_t place_count(const etx_method* method) {
  return etx_blob_place_count(&method->program->blob, method->blob_index);
}

static etx_blob_place place_at(const etx_method* method, size_t index) {
  return etx_blob_place_at(&method->program->blob, method->blob_index, index);
}

static bool has_stable_output(const etx_method* method) {
  for (size_t i = 0; i < method->output_count; ++i) {
    if (etx_blob_output_at(&method->program->blob, method->blob_index, i)
            .lifetime == ETX_LIFETIME_STABLE) {
      return true;
    }
  }
  return false;
}

void etx_scratch_compaction_count(etx_method* method, size_t dynamic_dims) {
  if (method->blob_index == SIZE_MAX || dynamic_dims == 0 ||
      method->program->limits.keeps_plan || has_stable_output(method)) {
    return;
  }
  const size_t places = place_count(method);
  method->scratch_layout_count =
      places == 0 ? 1 : 2 + (size_t)place_at(method, places - 1).layout;
  method->scratch_member_count = method->tensor_count;
  method->scratch_block_room =
      method->scratch_layout_count * method->scratch_member_count;
  if (!ETX_SIZE_PROGRAMS) return;
  method->scratch_list_count = method->scratch_member_count;
  method->scratch_listed_count = 3 * method->scratch_member_count;
}

// ---- blocks ----

// A view that an instruction sets up never uses the memory that the file states
// for it. An input is copied there by the run, so it always does.
static bool uses_own_memory(const etx_method_tensor* tensor) {
  return tensor->storage_kind == ETX_METHOD_STORAGE_SCRATCH &&
         ((tensor->late & ETX_LATE_ANY_ROOT) == 0 ||
          tensor->input != ETX_NO_INDEX);
}

// While blocks are joined, `block` of a member is another member of its block,
// or itself.
static uint32_t find_first(etx_scratch_member* members, uint32_t at) {
  while (members[at].block != at) {
    members[at].block = members[members[at].block].block;
    at = members[at].block;
  }
  return at;
}

static void join_views(etx_method* method) {
  const etx_blob* const blob = &method->program->blob;
  const size_t count = etx_blob_view_count(blob, method->blob_index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(blob, method->blob_index, i);
    const uint32_t view = method->values[row.value].position;
    const uint32_t base = method->values[row.base].position;
    if (method->scratch_members[view].block == ETX_NO_INDEX ||
        method->scratch_members[base].block == ETX_NO_INDEX) {
      continue;
    }
    const uint32_t first = find_first(method->scratch_members, view);
    method->scratch_members[first].block =
        find_first(method->scratch_members, base);
  }
}

// Replaces members by blocks in `block`. Meanwhile, `delta` has the number of
// the block.
static void number_blocks(etx_method* method) {
  etx_scratch_member* const members = method->scratch_members;
  method->scratch_block_count = 0;
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block != i) continue;
    etx_layout_block* const block =
        &method->scratch_blocks[method->scratch_block_count];
    *block = (etx_layout_block){SIZE_MAX, 0, 0, 0, 0, 0};
    members[i].delta = method->scratch_block_count++;
  }
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block == ETX_NO_INDEX || members[i].block == i) continue;
    members[i].delta = members[find_first(members, i)].delta;
  }
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block != ETX_NO_INDEX) {
      members[i].block = (uint32_t)members[i].delta;
    }
  }
}

static void measure_blocks(etx_method* method) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    etx_layout_block* const block = &method->scratch_blocks[member->block];
    const size_t start = method->tensors[i].storage_offset;
    if (start < block->start) block->start = start;
    if (start + member->bytes > block->end) block->end = start + member->bytes;
  }
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    member->delta = method->tensors[i].storage_offset -
                    method->scratch_blocks[member->block].start;
  }
}

// ---- layouts ----

// Notes where a layout of the file has a value. All members of a block must
// keep their distance to its start.
static bool note_place(const etx_method* method, const etx_blob_place* place) {
  const uint32_t tensor = method->values[place->value].position;
  const etx_scratch_member* const member = &method->scratch_members[tensor];
  if (member->block == ETX_NO_INDEX) return true;
  etx_layout_block* const block =
      &layout_at(method, 1 + place->layout)[member->block];
  const size_t start = (size_t)place->offset - member->delta;
  const size_t end = (size_t)(place->offset + place->bytes);
  if (place->offset < member->delta ||
      (block->end != 0 && (block->start != start || block->end != end))) {
    return false;
  }
  block->start = start;
  block->end = end;
  return end > start;  // a block without bytes would have no order
}

static etx_status read_layouts(const etx_method* method, etx_diag* diag) {
  const size_t places = place_count(method);
  for (size_t k = 1; k < method->scratch_layout_count; ++k) {
    memset(layout_at(method, k), 0,
           method->scratch_block_count * sizeof(etx_layout_block));
  }
  for (size_t i = 0; i < places; ++i) {
    const etx_blob_place place = place_at(method, i);
    if (note_place(method, &place)) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "place %z of method '%t' moves value %u away from the "
                         "values that share its bytes",
                         i, etx_pte_plan_name(&method->plan),
                         (uint64_t)place.value);
  }
  for (size_t k = 0; k < method->scratch_layout_count; ++k) {
    etx_blocks_sort(layout_at(method, k), method->scratch_block_count);
  }
  return ETX_OK;
}

static void forget_unused_memory(const etx_method* method) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    if (method->scratch_members[i].block != ETX_NO_INDEX ||
        tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) {
      continue;
    }
    tensor->storage = NULL;
    tensor->storage_bytes = 0;
  }
}

etx_status etx_scratch_compaction_init(etx_method* method, etx_diag* diag) {
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    etx_scratch_member* const member = &method->scratch_members[i];
    *member = (etx_scratch_member){0, tensor->storage_bytes, ETX_NO_INDEX,
                                   ETX_BLOCK_IN_EACH_CALL};
    if (uses_own_memory(tensor)) member->block = i;
  }
  if (method->scratch_member_count == 0) return ETX_OK;
  join_views(method);
  number_blocks(method);
  measure_blocks(method);
  method->scratch_alignment =
      etx_blocks_alignment(method->scratch_blocks, method->scratch_block_count);
  // A tensor could lose the alignment of its type.
  if (method->scratch_alignment < ETX_MEMORY_ALIGNMENT) {
    method->scratch_block_count = 0;
  }
  if (method->scratch_block_count == 0) {
    method->scratch_member_count = 0;
    return ETX_OK;
  }
  forget_unused_memory(method);
  return read_layouts(method, diag);
}

etx_block_relation etx_scratch_relation(const etx_method* method, uint32_t a,
                                        uint32_t b) {
  bool are_apart = true;
  bool are_together = true;
  for (size_t k = 0; k < method->scratch_layout_count; ++k) {
    const etx_layout_block* const first = &layout_at(method, k)[a];
    const etx_layout_block* const second = &layout_at(method, k)[b];
    are_together &= first->start == second->start;
    are_apart &= first->end <= second->start || second->end <= first->start;
  }
  return are_together ? ETX_BLOCKS_TOGETHER
         : are_apart  ? ETX_BLOCKS_APART
                      : ETX_BLOCKS_UNKNOWN;
}

// ---- merging ----

static bool have_same_ranges(const etx_method* method, uint32_t a, uint32_t b) {
  for (size_t k = 0; k < method->scratch_layout_count; ++k) {
    const etx_layout_block* const x = &layout_at(method, k)[a];
    const etx_layout_block* const y = &layout_at(method, k)[b];
    if (x->start != y->start || x->end != y->end) return false;
  }
  return true;
}

// Notes in `bytes` of each block how it is used. Blocks of kept values are all
// in use at once.
static void note_uses(const etx_method* method) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    method->scratch_blocks[member->block].bytes = member->use;
  }
}

// The block that `block` is merged into: one of the latest that were found, or
// itself.
static uint32_t find_same(const etx_method* method, uint32_t block,
                          uint32_t latest[LATEST_LISTED], size_t* found) {
  const etx_layout_block* const blocks = method->scratch_blocks;
  const size_t use = blocks[block].bytes;
  for (size_t i = 0; i < LATEST_LISTED && i < *found; ++i) {
    if (use != ETX_BLOCK_KEPT && blocks[latest[i]].bytes == use &&
        have_same_ranges(method, latest[i], block)) {
      return latest[i];
    }
  }
  latest[(*found)++ % LATEST_LISTED] = block;
  return block;
}

// Moves the blocks that stay, which are `placed` at their own number, to the
// front of each layout. Entries are read before they are written.
static void drop_merged(etx_method* method, size_t count) {
  etx_layout_block* to = method->scratch_blocks;
  for (size_t k = 0; k < method->scratch_layout_count; ++k) {
    etx_layout_block* const start = to;
    for (size_t i = 0; i < method->scratch_block_count; ++i) {
      const etx_layout_block* const from = &layout_at(method, k)[i];
      if (from->placed == i) *to++ = *from;
    }
    etx_blocks_sort(start, count);
  }
  method->scratch_block_count = count;
}

static void merge_blocks(etx_method* method) {
  etx_layout_block* const blocks = method->scratch_blocks;
  uint32_t latest[LATEST_LISTED];
  size_t found = 0;
  note_uses(method);
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    const uint32_t block = blocks[i].by_start;  // equal starts in a row
    const uint32_t same = find_same(method, block, latest, &found);
    for (size_t k = 0; k < method->scratch_layout_count; ++k) {
      layout_at(method, k)[block].placed = same;
    }
  }
  if (found == method->scratch_block_count) return;
  size_t count = 0;
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    if (blocks[i].placed == i) blocks[i].bytes = count++;
  }
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    member->block = (uint32_t)blocks[blocks[member->block].placed].bytes;
  }
  drop_merged(method, count);
}

// ---- lists ----

// The block with the bytes of a tensor, or ETX_NO_INDEX.
static uint32_t block_of(const etx_method* method, size_t tensor) {
  const uint32_t root = method->tensors[tensor].root;
  return root == ETX_NO_INDEX ? ETX_NO_INDEX
                              : method->scratch_members[root].block;
}

// The list that a tensor is in because it is a member of the block, or because
// it uses memory there. Most are in one for both reasons.
static uint32_t* find_part(const etx_method* method, size_t tensor,
                           bool as_member) {
  etx_scratch_list* const lists = method->scratch_lists;
  const uint32_t block = as_member ? method->scratch_members[tensor].block
                                   : block_of(method, tensor);
  const bool is_own = method->tensors[tensor].root == tensor;
  if (block == ETX_NO_INDEX || (is_own && !as_member)) return NULL;
  return is_own      ? &lists[block].own
         : as_member ? &lists[block].members
                     : &lists[block].pointed;
}

// Counts what all parts will have.
static void count_lists(const etx_method* method) {
  memset(method->scratch_lists, 0,
         method->scratch_block_count * sizeof *method->scratch_lists);
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    for (int as_member = 0; as_member < 2; ++as_member) {
      uint32_t* const part = find_part(method, i, as_member != 0);
      if (part != NULL) ++*part;
    }
  }
}

// Replaces counts by the ends of parts. The part in front of `own` has room for
// all members.
static void start_lists(const etx_method* method) {
  uint32_t at = 0;
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    etx_scratch_list* const list = &method->scratch_lists[i];
    list->sized = at;
    at += list->own + list->members;
    list->own = at += list->own;
    list->members = at += list->members;
    list->pointed = at += list->pointed;
    list->end = at;
  }
}

// Fills parts from their ends on, which become their starts.
static void fill_lists(const etx_method* method) {
  for (uint32_t i = (uint32_t)method->scratch_member_count; i-- > 0;) {
    for (int as_member = 0; as_member < 2; ++as_member) {
      uint32_t* const part = find_part(method, i, as_member != 0);
      if (part != NULL) method->scratch_listed[--*part] = i;
    }
  }
}

// True if two members of a block end at the same byte at all sizes.
static bool end_together(const etx_method* method, uint32_t a, uint32_t b) {
  const etx_method_tensor* const x = &method->tensors[a];
  const etx_method_tensor* const y = &method->tensors[b];
  if (method->scratch_members[a].delta != method->scratch_members[b].delta ||
      etx_method_is_dynamic(x) != etx_method_is_dynamic(y)) {
    return false;
  }
  if (!etx_method_is_dynamic(x)) return x->bytes == y->bytes;
  const etx_size_tensor* const first = &method->sizes.tensors[a];
  const etx_size_tensor* const second = &method->sizes.tensors[b];
  return first->alike != ETX_NO_INDEX && first->alike == second->alike &&
         first->element_bytes == second->element_bytes;
}

// Lists the members that decide the bytes of a block, just in front of `own`.
static void find_sized(const etx_method* method, etx_scratch_list* list) {
  uint32_t* const listed = method->scratch_listed;
  list->sized = list->own;
  for (uint32_t i = list->own; i < list->pointed; ++i) {
    bool is_new = true;
    for (uint32_t k = 0; k < LATEST_LISTED && list->sized + k < list->own;
         ++k) {
      if (end_together(method, listed[list->sized + k], listed[i])) {
        is_new = false;
        break;
      }
    }
    if (is_new) listed[--list->sized] = listed[i];
  }
}

static void note_block(const etx_method* method, etx_scratch_list* list) {
  const uint32_t first = method->scratch_listed[list->own];
  const etx_scratch_member* const member = &method->scratch_members[first];
  list->at = method->tensors[first].storage - member->delta;
  list->use = member->use;
}

void etx_scratch_lists_make(etx_method* method) {
  merge_blocks(method);
  count_lists(method);
  start_lists(method);
  fill_lists(method);
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    find_sized(method, &method->scratch_lists[i]);
    note_block(method, &method->scratch_lists[i]);
  }
  method->has_scratch_lists = true;
}

// ---- moves ----

static void size_listed(etx_method* method, etx_block_use use) {
  const uint32_t* const listed = method->scratch_listed;
  const etx_scratch_member* const members = method->scratch_members;
  const etx_method_tensor* const tensors = method->tensors;
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    const etx_scratch_list* const list = &method->scratch_lists[i];
    const uint32_t end = list->use == use ? list->own : 0;
    size_t bytes = 0;
    for (uint32_t k = list->sized; k < end; ++k) {
      const size_t last = members[listed[k]].delta + tensors[listed[k]].bytes;
      if (last > bytes) bytes = last;
    }
    method->scratch_blocks[i].bytes = bytes;
  }
}

static inline void move_data(const etx_method_tensor* tensor,
                             ptrdiff_t distance) {
  etx_tensor* const header = &tensor->value->as.tensor;
  header->data = (uint8_t*)header->data + distance;
}

static inline void move(const etx_method* method, const etx_scratch_list* list,
                        ptrdiff_t distance) {
  etx_method_tensor* const tensors = method->tensors;
  const uint32_t* const listed = method->scratch_listed;
  uint32_t i = list->own;
  for (; i != list->members; ++i) {
    tensors[listed[i]].storage += distance;
    move_data(&tensors[listed[i]], distance);
  }
  for (; i != list->pointed; ++i) tensors[listed[i]].storage += distance;
  for (; i != list->end; ++i) move_data(&tensors[listed[i]], distance);
}

static void move_listed(etx_method* method, etx_block_use use,
                        const etx_layout_block* blocks, uint8_t* data) {
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    etx_scratch_list* const list = &method->scratch_lists[i];
    uint8_t* const to = data + blocks[i].placed;
    if (list->use != use || list->at == to) continue;
    move(method, list, to - list->at);
    list->at = to;
  }
}

// ---- compaction ----

// Sizes that the run may change count at their bounds.
static size_t present_bytes(const etx_method* method, size_t tensor) {
  const etx_method_tensor* const t = &method->tensors[tensor];
  return (t->late & ETX_LATE_SIZES) != 0 ? method->scratch_members[tensor].bytes
                                         : t->bytes;
}

static bool is_of(const etx_scratch_member* member, etx_block_use use) {
  return member->block != ETX_NO_INDEX && member->use == use;
}

// A view that the file describes may have other sizes than the tensor in whose
// memory it lies: calls were checked with the bytes of that at its bounds.
static void size_views(const etx_method* method, etx_block_use use) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_method_tensor* const t = &method->tensors[i];
    if (t->root == ETX_NO_INDEX || t->root == i) continue;
    const etx_scratch_member* const member = &method->scratch_members[t->root];
    if (!is_of(member, use)) continue;
    const size_t last = t->root_offset + t->bytes;
    const size_t end =
        member->delta + (last < member->bytes ? last : member->bytes);
    etx_layout_block* const block = &method->scratch_blocks[member->block];
    if (end > block->bytes) block->bytes = end;
  }
}

// Sets the bytes of all blocks: those of one use have them, all others none.
// Blocks that are used once are in use before those of each call, so each kind
// is placed as if it had the scratch alone.
static void size_blocks(etx_method* method, etx_block_use use,
                        bool is_at_bounds) {
  // A phase at the bounds has ended the use of the lists.
  if (ETX_SIZE_PROGRAMS && method->has_scratch_lists) {
    size_listed(method, use);
    size_views(method, use);
    return;
  }
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    method->scratch_blocks[i].bytes = 0;
  }
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (!is_of(member, use)) continue;
    const size_t end =
        member->delta +
        (is_at_bounds ? member->bytes : present_bytes(method, i));
    etx_layout_block* const block = &method->scratch_blocks[member->block];
    if (end > block->bytes) block->bytes = end;
  }
  if (!is_at_bounds) size_views(method, use);
}

// Places kept blocks one behind another. Returns the bytes of all.
static size_t place_kept(etx_method* method, bool is_at_bounds) {
  size_t end = 0;
  size_blocks(method, ETX_BLOCK_KEPT, is_at_bounds);
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    etx_layout_block* const block = &method->scratch_blocks[i];
    block->placed = end;
    end += etx_kept_block_bytes(block->bytes);
  }
  return end;
}

// Gives all tensors in blocks of one use their addresses. In a method with late
// values, a tensor may access the bytes of its present sizes: records that are
// prepared during the run are checked for that. All others were checked at
// their bounds.
static void point_to_blocks(etx_method* method, etx_block_use use,
                            const etx_layout_block* blocks, uint8_t* data) {
  if (ETX_SIZE_PROGRAMS && method->has_scratch_lists) {
    move_listed(method, use, blocks, data);
    return;
  }
  const bool has_flow = etx_method_has_flow(method);
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (!is_of(member, use)) continue;
    etx_method_tensor* const tensor = &method->tensors[i];
    tensor->storage =
        etx_method_byte(data, blocks[member->block].placed + member->delta);
    tensor->storage_bytes = has_flow ? present_bytes(method, i) : member->bytes;
  }
}

static void point_to_kept(etx_method* method) {
  point_to_blocks(method, ETX_BLOCK_KEPT, method->scratch_blocks,
                  method->kept.data);
}

void etx_scratch_compaction_restart(etx_method* method) {
  method->has_scratch_lists = false;
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX || member->use == ETX_BLOCK_KEPT) {
      continue;
    }
    etx_method_tensor* const tensor = &method->tensors[i];
    tensor->storage =
        etx_method_byte(method->scratch.data, tensor->storage_offset);
    tensor->storage_bytes = member->bytes;
  }
  if (method->once == NULL) return;
  (void)place_kept(method, true);
  point_to_kept(method);
}

// Places the blocks of one use in the first `layouts`; returns the one that
// needs the fewest bytes.
static const etx_layout_block* choose_layout(etx_method* method, size_t layouts,
                                             etx_block_use use,
                                             size_t* out_used) {
  const etx_layout_block* const plan = layout_at(method, 0);
  const etx_layout_block* best = plan;
  size_blocks(method, use, false);
  for (size_t k = 0; k < layouts; ++k) {
    etx_layout_block* const blocks = layout_at(method, k);
    for (size_t i = 0; k > 0 && i < method->scratch_block_count; ++i) {
      blocks[i].bytes = plan[i].bytes;
    }
    const size_t used = etx_blocks_place(blocks, method->scratch_block_count,
                                         method->scratch_alignment);
    if (k > 0 && used >= *out_used) continue;
    *out_used = used;
    best = blocks;
  }
  return best;
}

// True if blocks of so many bytes fit behind the kept ones, which take `kept`:
// at most what they take at the bounds, and that is the size of their memory.
static bool fits_behind(const etx_method* method, size_t kept, size_t bytes) {
  return ETX_ALWAYS(kept <= method->kept.size) &&
         bytes <= method->kept.size - kept;
}

size_t etx_scratch_measure(etx_method* method) {
  const size_t layouts = method->scratch_layout_count;
  (void)choose_layout(method, layouts, ETX_BLOCK_IN_EACH_CALL,
                      &method->scratch_used);
  if (method->once == NULL) return method->scratch_used;
  const size_t kept = place_kept(method, false);
  size_t once = 0;
  (void)choose_layout(method, layouts, ETX_BLOCK_ONCE, &once);
  if (!fits_behind(method, kept, once) && once > method->scratch_used) {
    method->scratch_used = once;
  }
  return method->scratch_used;
}

static void compact_once(etx_method* method, size_t layouts) {
  const size_t kept = place_kept(method, false);
  size_t used = 0;
  point_to_kept(method);
  const etx_layout_block* const blocks =
      choose_layout(method, layouts, ETX_BLOCK_ONCE, &used);
  const bool fits = fits_behind(method, kept, used);
  point_to_blocks(method, ETX_BLOCK_ONCE, blocks,
                  fits ? method->kept.data + kept : method->scratch.data);
  if (!fits && used > method->scratch_used) method->scratch_used = used;
}

// With as much scratch as the plan needs, its layout will do: placing blocks in
// the others would take time and save no memory.
void etx_scratch_compact(etx_method* method) {
  const size_t layouts = method->scratch_given < method->scratch.size
                             ? method->scratch_layout_count
                             : 1;
  const etx_layout_block* const blocks = choose_layout(
      method, layouts, ETX_BLOCK_IN_EACH_CALL, &method->scratch_used);
  point_to_blocks(method, ETX_BLOCK_IN_EACH_CALL, blocks, method->scratch.data);
  if (method->once != NULL) compact_once(method, layouts);
}
