// Instructions of patterns. Internal to tokenizer/pattern/.

#ifndef ETX_TOKENIZER_PATTERN_PATTERN_CODE_H
#define ETX_TOKENIZER_PATTERN_PATTERN_CODE_H

typedef enum etx_pattern_kind {
  ETX_PATTERN_MATCH,      // the end
  ETX_PATTERN_SET,        // a character of `set`, from `least` to `most` times
  ETX_PATTERN_SPLIT,      // go on at `first`; if that fails, at `second`
  ETX_PATTERN_JUMP,       // go on at `first`
  ETX_PATTERN_LOOK,       // what follows must match here; goes on at `first`
  ETX_PATTERN_LOOK_NOT,   // must not match
  ETX_PATTERN_ATOMIC,     // what follows is not tried another way
  ETX_PATTERN_END_INNER,  // the end of these three
  ETX_PATTERN_LINE_BEGIN,
  ETX_PATTERN_LINE_END,
  ETX_PATTERN_TEXT_BEGIN,
  ETX_PATTERN_TEXT_END,
  ETX_PATTERN_TEXT_END_LINE,  // or before a line feed there
  ETX_PATTERN_EDGE,           // of a word
  ETX_PATTERN_NO_EDGE
} etx_pattern_kind;

typedef enum etx_pattern_mode {
  ETX_PATTERN_GREEDY,
  ETX_PATTERN_LAZY,
  ETX_PATTERN_POSSESSIVE
} etx_pattern_mode;

#endif
