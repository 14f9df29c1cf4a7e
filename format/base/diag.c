// A text formatter with seven conversions: enough for messages, small enough
// for bare metal, and with the same output on every C library.

#include "format/base/diag.h"

typedef struct writer {
  char* out;
  size_t capacity;  // bytes, terminator included
  size_t size;
} writer;

static void put(writer* w, char c) {
  if (w->size + 1 < w->capacity) w->out[w->size++] = c;
}

static void put_text(writer* w, etx_text text) {
  for (size_t i = 0; i < text.size; ++i) {
    // A name from an untrusted file must not send control codes to a terminal.
    const unsigned char c = (unsigned char)text.data[i];
    put(w, c < 0x20 || c == 0x7f ? '?' : text.data[i]);
  }
}

static void put_unsigned(writer* w, uint64_t value, unsigned base) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  while (count > 0) put(w, digits[--count]);
}

static void put_signed(writer* w, int64_t value) {
  if (value < 0) put(w, '-');
  put_unsigned(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

// Six significant digits in scientific or plain form; exact rounding does not
// matter in a message.
static void put_double(writer* w, double value) {
  if (value != value) {
    put_text(w, etx_text_of("nan"));
    return;
  }
  if (value < 0) {
    put(w, '-');
    value = -value;
  }
  if (value > 1.7e308) {
    put_text(w, etx_text_of("inf"));
    return;
  }
  int exponent = 0;
  while (value >= 1e6 && exponent < 400) value /= 10, ++exponent;
  while (value != 0 && value < 1e-3 && exponent > -400) value *= 10, --exponent;
  uint64_t scaled = (uint64_t)(value * 1e6 + 0.5);
  put_unsigned(w, scaled / 1000000, 10);
  scaled %= 1000000;
  if (scaled != 0) {
    put(w, '.');
    for (uint64_t digit = 100000; digit != 0 && scaled != 0; digit /= 10) {
      put(w, (char)('0' + scaled / digit));
      scaled %= digit;
    }
  }
  if (exponent != 0) {
    put(w, 'e');
    put_signed(w, exponent);
  }
}

static void format_list(writer* w, const char* format, va_list list) {
  for (; *format != '\0'; ++format) {
    if (*format != '%') {
      put(w, *format);
      continue;
    }
    switch (*++format) {
      case 's': {
        const char* string = va_arg(list, const char*);
        put_text(w, etx_text_of(string == NULL ? "(none)" : string));
        break;
      }
      case 't':
        put_text(w, va_arg(list, etx_text));
        break;
      case 'i':
        put_signed(w, va_arg(list, int64_t));
        break;
      case 'u':
        put_unsigned(w, va_arg(list, uint64_t), 10);
        break;
      case 'z':
        put_unsigned(w, va_arg(list, size_t), 10);
        break;
      case 'x':
        put_unsigned(w, va_arg(list, uint64_t), 16);
        break;
      case 'f':
        put_double(w, va_arg(list, double));
        break;
      case '%':
        put(w, '%');
        break;
      default:
        put(w, '%');
        return;  // an unknown conversion: its argument cannot be skipped
    }
  }
}

size_t etx_format_text_list(char* out, size_t capacity, const char* format,
                            va_list list) {
  writer w = {out, capacity, 0};
  format_list(&w, format, list);
  if (capacity > 0) out[w.size] = '\0';
  return w.size;
}

size_t etx_format_text(char* out, size_t capacity, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const size_t size = etx_format_text_list(out, capacity, format, list);
  va_end(list);
  return size;
}

void etx_diag_init(etx_diag* diag) {
  if (diag == NULL) return;
  memset(diag, 0, sizeof *diag);
  diag->status = ETX_OK;
}

static bool record(etx_diag* diag, etx_status status, const char* format,
                   va_list list) {
  if (diag == NULL || diag->status != ETX_OK) return false;
  diag->status = status;
  diag->text_size =
      etx_format_text_list(diag->text, sizeof diag->text, format, list);
  return true;
}

etx_status etx_diag_note(etx_diag* diag, etx_status status) {
  if (diag != NULL && diag->status == ETX_OK) diag->status = status;
  return status;
}

etx_status etx_diag_note_at(etx_diag* diag, etx_status status, uint64_t offset,
                            uint32_t line, uint32_t column) {
  if (diag == NULL || diag->status != ETX_OK) return status;
  diag->status = status;
  diag->offset = offset;
  diag->line = line;
  diag->column = column;
  return status;
}

// The names are in parentheses, since diag.h may define macros of these names.

etx_status (etx_diag_fail)(etx_diag* diag, etx_status status,
                           const char* format, ...) {
  va_list list;
  va_start(list, format);
  record(diag, status, format, list);
  va_end(list);
  return status;
}

etx_status (etx_diag_fail_at)(etx_diag* diag, etx_status status,
                              uint64_t offset, const char* format, ...) {
  va_list list;
  va_start(list, format);
  if (record(diag, status, format, list)) diag->offset = offset;
  va_end(list);
  return status;
}

etx_status (etx_diag_fail_line)(etx_diag* diag, etx_status status,
                                uint32_t line, uint32_t column,
                                const char* format, ...) {
  va_list list;
  va_start(list, format);
  if (record(diag, status, format, list)) {
    diag->line = line;
    diag->column = column;
  }
  va_end(list);
  return status;
}

void (etx_diag_append)(etx_diag* diag, const char* format, ...) {
  if (diag == NULL || diag->status == ETX_OK) return;
  va_list list;
  va_start(list, format);
  diag->text_size += etx_format_text_list(
      diag->text + diag->text_size, sizeof diag->text - diag->text_size, format,
      list);
  va_end(list);
}
