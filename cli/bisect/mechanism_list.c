#include "cli/bisect/mechanism_list.h"

#include <stdio.h>
#include <string.h>

#include "exporter/pass_list.h"

static void add(etx_mechanism_list* list, etx_mechanism mechanism) {
  if (list->count < ETX_MECHANISM_MOST) list->items[list->count++] = mechanism;
}

// True if the list "-name,-name" has the name.
static bool is_named(const char* names, const char* name) {
  const size_t size = strlen(name);
  for (const char* at = names; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, ",");
    if (length == size + 1 && memcmp(at + 1, name, size) == 0) return true;
    at += length + (at[length] == ',');
  }
  return false;
}

void etx_mechanism_list_init(etx_mechanism_list* list, bool packs,
                             const char* off) {
  list->count = 0;
  list->off = off;
  for (size_t i = 0; i < etx_pass_count(); ++i) {
    const etx_pass* const pass = etx_pass_at(i);
    if (!pass->is_optional || is_named(off, pass->name)) continue;
    if (!packs && strcmp(pass->name, "pack_weights") == 0) continue;
    add(list, (etx_mechanism){ETX_MECHANISM_PASS, pass->name, ETX_SET_ANY});
  }
  add(list, (etx_mechanism){ETX_MECHANISM_MEMORY_PLAN,
                            "memory shared over time", ETX_SET_ANY});
  for (int set = ETX_SET_BASE + 1; set < ETX_SET_COUNT; ++set) {
    const etx_instruction_set wanted = (etx_instruction_set)set;
    if (etx_instruction_set_within(wanted) != wanted) continue;
    add(list, (etx_mechanism){ETX_MECHANISM_INSTRUCTION_SET,
                              etx_instruction_set_name(wanted), wanted});
  }
  add(list, (etx_mechanism){ETX_MECHANISM_THREADS, "threads", ETX_SET_ANY});
}

const char* etx_mechanism_kind_name(etx_mechanism_kind kind) {
  switch (kind) {
    case ETX_MECHANISM_PASS:
      return "pass";
    case ETX_MECHANISM_MEMORY_PLAN:
      return "memory plan";
    case ETX_MECHANISM_INSTRUCTION_SET:
      return "instruction set";
    default:
      return "threads";
  }
}

void etx_mechanism_list_setting(const etx_mechanism_list* list, size_t count,
                                etx_mechanism_setting* out) {
  const int fixed = snprintf(out->passes, sizeof out->passes, "%s",
                             list->off == NULL ? "" : list->off);
  size_t used = fixed > 0 ? (size_t)fixed : 0;
  if (used >= sizeof out->passes) used = sizeof out->passes - 1;
  out->algorithm = NULL;
  out->set = ETX_SET_BASE;
  out->has_threads = false;
  for (size_t i = 0; i < list->count; ++i) {
    const etx_mechanism* const m = &list->items[i];
    const bool is_on = i < count;
    if (m->kind == ETX_MECHANISM_PASS && !is_on) {
      const int written =
          snprintf(out->passes + used, sizeof out->passes - used, "%s-%s",
                   used == 0 ? "" : ",", m->name);
      if (written > 0) used += (size_t)written;
      if (used >= sizeof out->passes) used = sizeof out->passes - 1;
    } else if (m->kind == ETX_MECHANISM_MEMORY_PLAN && !is_on) {
      out->algorithm = "naive";
    } else if (m->kind == ETX_MECHANISM_INSTRUCTION_SET && is_on) {
      out->set = m->set;
    } else if (m->kind == ETX_MECHANISM_THREADS) {
      out->has_threads = is_on;
    }
  }
}
