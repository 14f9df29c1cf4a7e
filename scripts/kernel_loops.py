"""Which loops of the tables of loops each kernel may call.

Makes runtime/kernels/registry/kernel_loops.def from the sources of the kernels. A
kernel needs a loop if a function that it reaches names the loop. What a function
reaches is found in the text: all functions, tables and macros that it mentions,
whatever the machine, the compiler and the sizes of a call. So nothing that a call
can choose is missing, and some loops are listed that no call chooses.
"""

import pathlib
import re

KERNELS = 'runtime/kernels'
SIMD = KERNELS + '/simd'
OUTPUT = KERNELS + '/registry/kernel_loops.def'

# Loops that a table has by the number of a function.
BY_FUNCTION = ('unary', 'binary')
OPS = {table: f'{SIMD}/elementwise/{table}_ops.def' for table in BY_FUNCTION}

# Lists of kernels, and the files that include them.
SOURCE_OF = {'ternary_ops.def': KERNELS + '/elementwise/elementwise_ternary.c',
             'scalar_kernels.def': KERNELS + '/elementwise/scalar_ops.c'}

# Loops that are fields of a table: the text by which functions read them.
FIELDS = {
    ('f32', name): rf'(?:->|\.){name}\b'
    for name in ('dots', 'dots_bf16', 'dots_f16', 'mixed_dots_bf16', 'mixed_dots_f16',
                 'half_dots_bf16', 'half_dots_f16',
                 'half_sums_bf16', 'half_sums_f16', 'gemm_small', 'transpose_pack', 'copy_rows',
                 'store_rows', 'depthwise_row', 'max_pool_row', 'attention_weights',
                 'conv_oc_dense', 'conv_oc', 'conv_oc_store', 'winograd',
                 'depthwise_planes', 'conv_pixel')}
FIELDS |= {
    # Products of float32 alone, and of any type.
    ('f32', 'gemm_float'): r'->gemm_by_type\[ETX_COMPUTE_F32\]',
    ('f32', 'gemm_by_type'): r'->gemm_by_type\[(?!ETX_COMPUTE_F32\])',
    # No loop of a table: a way of products that floats do not take.
    ('f32', 'gemm_f64_i64'): r'\betx_gemm_f64_i64\b',
    ('floats', 'spread'): r'->spread\b',
    ('floats', 'bits'): r'\bloops->bits\b',
    ('floats', 'transpose_16x16'): r'->transpose_16x16\b',
    ('floats', 'softmax'): r'->raise\b',
    ('floats', 'normalize'): r'->normalize\b',
    ('recurrent', 'panel_dots'): r'->panel_dots\b',
}
CELLS = {'gru': 'GRU', 'lstm': 'LSTM', 'rnn_tanh': 'RNN_TANH',
         'rnn_relu': 'RNN_RELU'}

# A comparison with the number of a loop's function calls no loop.
COMPARED = re.compile(r'(?:[=!]=\s*|\bcase\s+)ETX_(?:UNARY|BINARY|CELL)_\w+')
NUMBER = re.compile(r'\bETX_(UNARY|BINARY)_([a-z]\w*)')
# The gates of recurrent layers are a table by the kind of cell.
CELL = re.compile(r'\bETX_CELL_(\w+)\b')
# The steps of a chain are texts in a program: the tables of their loops count for
# those that read such texts.
STEP_TABLES = {'unary_steps', 'binary_steps'}
STEP_READER = 'etx_chain_read_steps'
STEP = re.compile(r'\[ETX_STEP_(\w+)\]\s*=\s*\{?\s*ETX_(UNARY|BINARY)_(\w+)')
WORD = re.compile(r'\b[A-Za-z_]\w*\b')
# Templates make names of their own: who includes one reaches all that it has.
TEMPLATE = re.compile(r'^#\s*include "(\S+_template\.h)"', re.M)
# A kernel that a macro defines: its symbol, or its name, is among the arguments.
INVOKED = re.compile(r'^([A-Z]\w*)\(([^;{}]*?)\)\s*;?$', re.M)
ROW = re.compile(r'\bKERNEL\((\w+),\s*(\w+)(?:,\s*(\w+))?\)')


def without_comments(text):
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'//[^\n]*', '', text)
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


class Node:
    """A function, a table, a macro or a type: its name, its text, its file."""

    def __init__(self, name, text, file, is_static):
        self.name, self.file, self.is_static = name, file, is_static
        text = COMPARED.sub(' ', text)
        self.words = set(WORD.findall(text)) - {name}
        self.loops = {(m[1].lower(), m[2]) for m in NUMBER.finditer(text)}
        self.loops |= {key for key, pattern in FIELDS.items()
                       if re.search(pattern, text)}
        self.cells = {m[1] for m in CELL.finditer(text)}


def chunks(text):
    """The top-level pieces of a C text: macros, and what ends in ';' or '}'."""
    macro = re.compile(r'^#\s*define\s+(\w+)((?:.*\\\n)*.*)$', re.M)
    for found in macro.finditer(text):
        yield found[1], found[2], True
    text = re.sub(r'^#(?:.*\\\n)*.*$', '', text, flags=re.M)
    text = INVOKED.sub('', text)
    depth, start = 0, 0
    for at, letter in enumerate(text):
        if letter == '{':
            depth += 1
        elif letter == '}':
            depth -= 1
        if depth != 0 or letter not in '};':
            continue
        piece = text[start:at + 1]
        if letter == ';' or not re.match(r'\s*;', text[at + 1:at + 20]):
            if letter == ';' or '=' not in piece.split('{')[0]:
                yield from named(piece)
                start = at + 1


def named(piece):
    """A definition's name: a function's, or a table's in front of '='."""
    head = piece.split('{')[0]
    if '{' not in piece or re.match(r'\s*(?:typedef|enum|struct|union)\b', head):
        return
    found = re.search(r'(\w+)\s*(?:\[[^=]*\])*\s*=\s*$', head) if '=' in head else \
        re.search(r'\b(\w+)\s*\((?![^()]*\)\s*\()', head)
    if found:
        yield found[1], piece, bool(re.search(r'\bstatic\b', head))


class Sources:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.by_file, self.shared, self.rows, self.invoked = {}, {}, [], []
        self.templates = {}
        for path in sorted((self.root / KERNELS).rglob('*')):
            place = str(path.relative_to(self.root))
            # Loops call no table of loops; templates are in front of the others.
            if path.suffix not in ('.c', '.h') or place.startswith(
                    (SIMD + '/', KERNELS + '/arch/')):
                continue
            self.templates[place] = TEMPLATE.findall(path.read_text())
            self.add(place, without_comments(path.read_text()))
        for name in ('ternary_ops.def', 'scalar_kernels.def'):
            place = f'{KERNELS}/elementwise/{name}'
            source = SOURCE_OF[name]
            self.invoke(source, without_comments((self.root / place).read_text()), ROW)
        for table in BY_FUNCTION:
            self.rows += [(*m.groups(), table) for m in
                          ROW.finditer((self.root / OPS[table]).read_text())]

    def add(self, place, text):
        nodes = self.by_file.setdefault(place, {})
        for name, body, is_static in chunks(text):
            node = Node(name, body, place, is_static)
            nodes.setdefault(name, []).append(node)
            if not is_static or place.endswith('.h'):
                self.shared.setdefault(name, []).append(node)

        self.invoke(place, text)

    def invoke(self, place, text, pattern=INVOKED):
        for found in pattern.finditer(text):
            self.invoked.append((place, set(WORD.findall(found[0]))))

    def start(self, symbol):
        """The functions that a kernel begins with."""
        kernel = f'etx_kernel_{symbol}_prepare'
        nodes = list(self.shared.get(kernel, []))
        for row_kernel, prepare, _, table in self.rows:
            if row_kernel == kernel:
                place = f'{KERNELS}/elementwise/elementwise_{table}.c'
                nodes += self.by_file[place][prepare]
        for place, words in self.invoked:
            if symbol in words or kernel in words:
                nodes += [node for word in words for node in self.find(word, place)]
        if not nodes:
            raise SystemExit(f'{kernel} is not found in {KERNELS}')
        return nodes

    def find(self, name, place):
        return self.by_file.get(place, {}).get(name) or self.shared.get(name, [])

    def reached(self, nodes):
        """All nodes that are reached from some."""
        seen, left = set(), list(nodes)
        while left:
            node = left.pop()
            if node in seen:
                continue
            seen.add(node)
            for word in node.words - STEP_TABLES:
                left += self.find(word, node.file)
            for template in self.templates[node.file]:
                left += [other for others in self.by_file.get(template, {}).values()
                         for other in others]
        return seen

    def loops_of(self, symbol):
        """The loops of etx_kernel_<symbol>_prepare, sorted."""
        loops = {(table, loop) for kernel, _, loop, table in self.rows
                 if kernel == f'etx_kernel_{symbol}_prepare'}
        for node in self.reached(self.start(symbol)):
            loops |= node.loops
            loops |= {('recurrent', name) for name, cell in CELLS.items()
                      if cell in node.cells}
            if node.name == STEP_READER:
                loops.add(('chain', 'steps'))
        return sorted(loops)

    def steps(self):
        """The steps of chains, and the loop of each."""
        text = (self.root / KERNELS / 'core/chain.c').read_text()
        return [(m[1], f'{m[2].lower()}.{m[3]}') for m in STEP.finditer(text)]


def all_loops(root):
    """Every loop, table by table."""
    found = []
    for table in BY_FUNCTION:
        text = (pathlib.Path(root) / OPS[table]).read_text()
        text = without_comments(re.sub(r'^#.*?[^\\]$', '', text, flags=re.M | re.S))
        found += [(table, m[1]) for m in re.finditer(r'^[A-Z]\w+\((\w+),', text, re.M)]
    found += list(FIELDS)
    return found + [('recurrent', cell) for cell in CELLS]


def symbols(root):
    """The operators that have a kernel of their own; the runtime makes views."""
    text = (pathlib.Path(root) / 'format/ops/op_schema.def').read_text()
    return re.findall(r'^OP\((\w+),', text, re.M)


HEAD = '''\
// The tables of loops, and what each kernel needs of them (runtime/built_loops.h):
//
//   LOOP(table, name)        a loop that a build may leave out
//   LOOPS(symbol, "table.name table.name ...")
//       the loops that a kernel may call; a kernel without a row calls none.
//       "chain.steps" stands for the loops of the steps in its calls
//   STEP(step, "table.name")
//       the loop of a step of a chain (format/ops/chain_steps.def)
//
// The including file defines the macros that it needs.
//
// Made by scripts/operator_files.py (kernel_loops.py); do not edit.
#ifndef LOOP
#define LOOP(table, name)
#endif
#ifndef LOOPS
#define LOOPS(symbol, names)
#endif
#ifndef STEP
#define STEP(step, loop)
#endif
'''
TAIL = '''#undef LOOP
#undef LOOPS
#undef STEP
'''


def text(root):
    """The correct text of kernel_loops.def."""
    sources = Sources(root)
    lines = [f'LOOP({table}, {name})' for table, name in all_loops(root)]
    lines += [f'STEP({step}, "{loop}")' for step, loop in sources.steps()]
    for symbol in symbols(root):
        loops = sources.loops_of(symbol)
        if loops:
            names = ' '.join(f'{table}.{name}' for table, name in loops)
            lines.append(f'LOOPS({symbol}, "{names}")')
    return HEAD + '\n'.join(lines) + '\n' + TAIL


if __name__ == '__main__':
    print(text(pathlib.Path(__file__).parents[1]), end='')
