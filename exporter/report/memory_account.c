#include "exporter/report/memory_account.h"

#include "exporter/arenas/memory_traffic.h"
#include "exporter/placement/liveness.h"

typedef struct accounting {
  const etx_ir_module* module;
  const etx_ir_method* method;
  const etx_placement* placement;
  const etx_live_interval* lifetimes;
  size_t peak;  // node
  etx_memory_account* account;
} accounting;

static uint64_t aligned(const accounting* a, uint64_t bytes) {
  const uint64_t step = a->module->alignment;
  return bytes + (step - bytes % step) % step;
}

static void count_values(const accounting* a) {
  for (size_t n = 0; n < a->method->node_count; ++n) {
    const etx_ir_node* const node = &a->method->nodes[n];
    for (size_t i = 0; i < node->output_count; ++i) {
      if (node->outputs[i] == ETX_IR_NONE) continue;
      const etx_value_placement* const place =
          &a->placement->values[node->outputs[i]];
      const uint64_t bytes = aligned(a, place->bytes);
      a->account->naive_bytes += bytes;
      if (!etx_placement_kind_is_root(place->kind))
        a->account->view_bytes += bytes;
    }
  }
}

// The bytes of all blocks. Blocks of planned inputs belong to no node; they are
// added to the naive plan here.
static uint64_t count_blocks(const accounting* a) {
  uint64_t blocks = 0;
  for (size_t s = 0; s < a->placement->storage_count; ++s) {
    const etx_storage* const storage = &a->placement->storages[s];
    if (a->lifetimes[s].end == 0) continue;
    blocks += aligned(a, storage->bytes);
    if (storage->index != ETX_IR_NONE) {
      a->account->naive_bytes += aligned(a, storage->bytes);
    }
  }
  return blocks;
}

// ---------------------------------------------------------------- the peak

static bool is_live(const accounting* a, size_t storage) {
  const etx_live_interval* const lifetime = &a->lifetimes[storage];
  return !lifetime->is_stable && etx_live_interval_covers(lifetime, a->peak);
}

static etx_text operator_of(const etx_ir_node* node) {
  return node->op == NULL ? node->aten : etx_text_of(node->op->name);
}

// Names every block after a value in it: the first one, or the last one that is
// computed before or at the peak.
static void name_blocks(const accounting* a, bool by_first,
                        etx_export_block* by_storage) {
  const size_t limit = by_first ? a->method->node_count : a->peak + 1;
  for (size_t i = 0; i < a->method->input_count; ++i) {
    const uint32_t storage = a->placement->storage_of_input[i];
    if (storage == ETX_IR_NONE) continue;
    by_storage[storage].name = a->method->inputs[i].name;
    by_storage[storage].op = etx_text_of("");
  }
  for (size_t n = 0; n < a->method->node_count && n < limit; ++n) {
    const etx_ir_node* const node = &a->method->nodes[n];
    for (size_t i = 0; i < node->output_count; ++i) {
      const uint32_t value = node->outputs[i];
      if (value == ETX_IR_NONE ||
          a->placement->values[value].kind != ETX_PLACEMENT_COMPUTED) {
        continue;
      }
      etx_export_block* const block =
          &by_storage[a->placement->values[value].storage];
      if (by_first && block->name.data != NULL) continue;
      block->name = a->method->values[value].name;
      block->op = operator_of(node);
    }
  }
}

static etx_status copy_gaps(const accounting* a,
                            const etx_live_interval* lifetime,
                            etx_export_block* block) {
  const size_t count = lifetime->gap_count;
  if (count == 0) return ETX_OK;
  etx_export_node_range* const gaps =
      etx_pool_take(a->module->pool, count * sizeof *gaps);
  if (gaps == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    gaps[i] =
        (etx_export_node_range){lifetime->gaps[i].start, lifetime->gaps[i].end};
  }
  block->gaps = gaps;
  block->gap_count = count;
  return ETX_OK;
}

// One row for every storage.
static etx_status describe_storages(const accounting* a, bool by_first,
                                    etx_pool* work,
                                    etx_export_block** out_blocks) {
  const size_t count = a->placement->storage_count;
  etx_export_block* const blocks = etx_pool_take(work, count * sizeof *blocks);
  uint64_t* traffic = NULL;
  if (blocks == NULL) return ETX_OUT_OF_MEMORY;
  if (a->module->memory_count > 1) {
    ETX_TRY(etx_memory_traffic_find(work, a->method, a->placement, &traffic));
  }
  name_blocks(a, by_first, blocks);
  for (size_t s = 0; s < count; ++s) {
    blocks[s].bytes = a->placement->storages[s].bytes;
    blocks[s].offset = a->placement->storages[s].offset;
    blocks[s].memory = a->placement->storages[s].memory;
    blocks[s].traffic = traffic == NULL ? 0 : traffic[s];
    blocks[s].start = a->lifetimes[s].start;
    blocks[s].end = a->lifetimes[s].end;
    blocks[s].is_stable = a->lifetimes[s].is_stable;
    ETX_TRY(copy_gaps(a, &a->lifetimes[s], &blocks[s]));
  }
  *out_blocks = blocks;
  return ETX_OK;
}

static etx_status list_blocks(const accounting* a, etx_pool* pool,
                              etx_pool* work) {
  const size_t count = a->placement->storage_count;
  etx_memory_account* const account = a->account;
  etx_export_block* blocks = NULL;
  ETX_TRY(describe_storages(a, true, work, &blocks));
  for (size_t s = 0; s < count; ++s) account->block_count += blocks[s].end != 0;
  account->blocks =
      etx_pool_take(pool, account->block_count * sizeof *account->blocks);
  if (account->blocks == NULL) return ETX_OUT_OF_MEMORY;
  size_t next = 0;
  for (size_t s = 0; s < count; ++s) {
    if (blocks[s].end != 0) account->blocks[next++] = blocks[s];
  }
  return ETX_OK;
}

static void sink_down(etx_export_block* items, size_t at, size_t count) {
  const etx_export_block moved = items[at];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    const etx_export_block* last = &items[child];
    if (child + 1 < count && (items[child + 1].bytes < last->bytes ||
                              (items[child + 1].bytes == last->bytes &&
                               items[child + 1].offset > last->offset))) {
      last = &items[++child];
    }
    if (last->bytes > moved.bytes ||
        (last->bytes == moved.bytes && last->offset <= moved.offset)) {
      break;
    }
    items[at] = *last;
    at = child;
  }
  items[at] = moved;
}

// Heapsort: the largest first, then by offset.
static void sort_values(etx_export_block* items, size_t count) {
  for (size_t i = count / 2; i > 0; --i) sink_down(items, i - 1, count);
  for (size_t left = count; left > 1;) {
    const etx_export_block last = items[0];
    items[0] = items[--left];
    items[left] = last;
    sink_down(items, 0, left);
  }
}

static etx_status list_peak(const accounting* a, etx_pool* pool,
                            etx_pool* work) {
  const size_t count = a->placement->storage_count;
  etx_memory_account* const account = a->account;
  etx_export_block* blocks = NULL;
  ETX_TRY(describe_storages(a, false, work, &blocks));
  for (size_t s = 0; s < count; ++s) account->value_count += is_live(a, s);
  account->values =
      etx_pool_take(pool, account->value_count * sizeof *account->values);
  if (account->values == NULL) return ETX_OUT_OF_MEMORY;
  size_t next = 0;
  for (size_t s = 0; s < count; ++s) {
    if (!is_live(a, s)) continue;
    account->values[next++] = blocks[s];
    account->live_bytes += blocks[s].bytes;
    account->padding_bytes += aligned(a, blocks[s].bytes) - blocks[s].bytes;
  }
  sort_values(account->values, account->value_count);
  return ETX_OK;
}

// ---------------------------------------------------------- savings

static bool covers(const etx_export_block* block, size_t node) {
  if (node < block->start || node >= block->end) return false;
  for (size_t i = 0; i < block->gap_count; ++i) {
    if (block->gaps[i].start <= node && node < block->gaps[i].end) return false;
  }
  return true;
}

// The peak of the live bytes if block `without` were not there.
static uint64_t most_live(const uint64_t* live, size_t count,
                          const etx_export_block* without, uint64_t bytes) {
  uint64_t most = 0;
  for (size_t n = 0; n < count; ++n) {
    const bool is_less = without != NULL && covers(without, n);
    const uint64_t left = live[n] - (is_less ? bytes : 0);
    if (left > most) most = left;
  }
  return most;
}

// Live bytes at each node and at the end, rounded up to the alignment.
static etx_status count_live(const accounting* a, etx_pool* work,
                             uint64_t** out_live, size_t* out_count) {
  const size_t count = a->method->node_count + 1;
  uint64_t* const live = etx_pool_take(work, (count + 1) * sizeof *live);
  if (live == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < a->placement->storage_count; ++s) {
    const etx_live_interval* const lifetime = &a->lifetimes[s];
    if (lifetime->end == 0 || lifetime->is_stable) continue;
    const uint64_t bytes = aligned(a, a->placement->storages[s].bytes);
    live[lifetime->start] += bytes;
    live[lifetime->end] -= bytes;  // wraps, and so does the sum below
    for (size_t g = 0; g < lifetime->gap_count; ++g) {
      live[lifetime->gaps[g].start] -= bytes;
      live[lifetime->gaps[g].end] += bytes;
    }
  }
  for (size_t n = 1; n < count; ++n) live[n] += live[n - 1];
  *out_live = live;
  *out_count = count;
  return ETX_OK;
}

static etx_status find_savings(const accounting* a, etx_pool* work) {
  const etx_memory_account* const account = a->account;
  uint64_t* live = NULL;
  size_t count = 0;
  ETX_TRY(count_live(a, work, &live, &count));
  const uint64_t most = most_live(live, count, NULL, 0);
  for (size_t i = 0; i < account->value_count && i < ETX_EXPORT_SAVINGS; ++i) {
    etx_export_block* const value = &account->values[i];
    value->saves =
        most - most_live(live, count, value, aligned(a, value->bytes));
  }
  return ETX_OK;
}

static etx_status find_all(accounting* a, etx_pool* pool, etx_pool* work,
                           const etx_memory_plan* memory) {
  etx_live_interval* lifetimes = NULL;
  ETX_TRY(etx_liveness_find(work, a->method, a->placement, &lifetimes));
  a->lifetimes = lifetimes;
  count_values(a);
  const uint64_t blocks = count_blocks(a);
  etx_memory_account* const account = a->account;
  account->in_place_bytes = account->naive_bytes - account->view_bytes - blocks;
  account->sharing_bytes = blocks - aligned(a, memory->planned_bytes) -
                           aligned(a, memory->stable_bytes);
  ETX_TRY(list_blocks(a, pool, work));
  ETX_TRY(list_peak(a, pool, work));
  return find_savings(a, work);
}

etx_status etx_memory_account_find(etx_pool* pool, const etx_ir_module* module,
                                   const etx_ir_method* method,
                                   const etx_placement* placement,
                                   const etx_memory_plan* memory,
                                   etx_memory_account* out_account) {
  etx_memory_account account = {.naive_bytes = 0};
  accounting a = {.module = module,
                  .method = method,
                  .placement = placement,
                  .peak = memory->peak_node,
                  .account = &account};
  etx_pool work;
  etx_pool_init(&work);
  const etx_status status = find_all(&a, pool, &work, memory);
  etx_pool_close(&work);
  if (status == ETX_OK) *out_account = account;
  return status;
}
