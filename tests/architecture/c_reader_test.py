"""c_reader.py counts functions and types in text made to mislead it."""

import sys
import unittest

import c_reader


def functions(text, **others):
    texts = {"a.c": text, **{f"{n}.h": t for n, t in others.items()}}
    tree = c_reader.CTree(texts)
    found = [f for f in tree.functions() if f.path == "a.c"]
    assert not tree.unreadable, tree.unreadable
    return [(f.name, f.lines, f.parameters) for f in found]


def types(text):
    tree = c_reader.CTree({"a.c": text})
    return [(t.line, t.kind, t.name) for t in tree.types()]


class Functions(unittest.TestCase):
    def test_parameters_are_counted_between_commas_of_the_outer_brackets(self):
        self.assertEqual(
            functions("int f(int a, void (*g)(int, int), int b[static 2]) {\n"
                      "  return 0;\n}\nvoid h(void) {}\nvoid i() {}\n"
                      "int p(const char* text, ...) { return 0; }\n"),
            [("f", 3, 3), ("h", 1, 0), ("i", 1, 0), ("p", 1, 1)])

    def test_declarations_types_and_initializers_are_none(self):
        self.assertEqual(functions(
            "int f(int a);\nstruct s { int a; };\n"
            "static const int t[] = { 1, 2 };\nint (*g)(int) = f;\n"
            "static const s table = MADE(1, 2) { 3 };\n"
            "typedef struct NAME(x) { int a; } NAME(x);\n"
            "enum { A, B };\nunion u { int a; } v;\n"), [])

    def test_braces_of_comments_strings_and_characters_do_not_count(self):
        self.assertEqual(functions(
            'void f(void) { // }\n  g("}\\"}"); /* } \n } */ h(\'}\');\n'
            "  h('\\'', '\"');\n}\nint k(void) { return 1; }\n"),
            [("f", 5, 0), ("k", 1, 0)])

    def test_a_head_may_take_several_lines_and_return_a_struct(self):
        self.assertEqual(functions(
            "static struct pair\nmade(\n    int a,\n    int b)\n{\n}\n"),
            [("made", 6, 2)])

    def test_a_function_may_return_a_pointer_to_a_function(self):
        self.assertEqual(functions(
            "static int (*choose(int a, int b))(long) { return 0; }\n"),
            [("choose", 1, 2)])

    def test_attributes_are_no_names_and_no_parameters(self):
        self.assertEqual(functions(
            "static __attribute__((noinline, aligned(64))) int f(int a)\n"
            "    __attribute__((nonnull(1, 2))) {\n}\n"
            "__attribute__((target(\"avx2\"))) void g(int a, int b) {}\n"
            "struct __attribute__((packed)) s { int a; };\n"),
            [("f", 3, 1), ("g", 1, 2)])

    def test_a_macro_may_make_the_name(self):
        self.assertEqual(functions(
            "static void NAME(x)(int a, int b) {\n}\n"
            "static inline NAME(share) NAME(y)(int c) {\n}\n"),
            [("NAME(x)", 2, 2), ("NAME(y)", 2, 1)])

    def test_a_macro_may_make_the_whole_head(self):
        self.assertEqual(functions(
            "#define LOOP(name, type) \\\n"
            "  static void name(type* a, type* b, int n)\n"
            "LOOP(add, float) {\n  run();\n}\n"), [("LOOP(add,float)", 3, 3)])

    def test_a_head_that_a_macro_of_another_file_makes_is_expanded(self):
        self.assertEqual(functions(
            "LOOP(add, float) {\n}\n",
            loop="#define LOOP(n, t) void n(t a, t b, t c, t d)\n"),
            [("LOOP(add,float)", 2, 4)])

    def test_parameters_that_a_macro_holds_are_counted(self):
        self.assertEqual(functions(
            "#define PLACE int x, int y\n#define OF(t) t* a, t* b\n"
            "#define ALL (PLACE, OF(int))\n"
            "void f(PLACE, int z) {}\nvoid g(OF(char), PLACE) {}\n"
            "void h ALL {}\n"), [("f", 1, 3), ("g", 1, 4), ("h", 1, 4)])

    def test_functions_in_macro_bodies_count(self):
        self.assertEqual(functions(
            "#define MAKE(name, type)            \\\n"
            "  static type name##_one(type a) {  \\\n"
            "    return a;                       \\\n"
            "  }                                 \\\n"
            "  static type name##_two(type a, type b) { return b; }\n"
            "MAKE(x, int)\nMAKE(y, int)\n"
            "static int f(int a) {\n  return a;\n}\n"),
            [("f", 3, 1), ("name##_one", 3, 1), ("name##_two", 1, 2)])

    def test_a_macro_that_opens_a_function_counts_to_its_end(self):
        text = "#define BEGIN(name) \\\n  void name(int a) { \\\n  start();\n"
        self.assertEqual(functions(text), [("name", 2, 1)])

    def test_statements_in_macro_bodies_are_none(self):
        self.assertEqual(functions(
            "#define EACH(i, n) for (int i = 0; i < (n); ++i) {\n"
            "#define OR(a) if (a) { b(); } else { c(); }\n"
            "#define TRY(x) do { x; } while (0)\n"
            "#define LOOP(i) EACH(i, 3) { d(); }\n"
            "#define VALUE(x) (type) { x, x }\n"), [])

    def test_a_call_of_a_macro_before_a_function_is_not_part_of_it(self):
        self.assertEqual(functions(
            "CASE(a)\nCASE(b, c)\n\nstatic int f(int a) {\n}\n"),
            [("f", 2, 1)])

    def test_each_branch_of_an_if_is_read(self):
        self.assertEqual(functions(
            "#if A\nint f(int a) {\n#else\nint f(int a, int b) {\n#endif\n"
            "  return 0;\n}\n"
            "#ifdef B\nint g(void) { return 1; }\n"
            "#elif C\nint g(int a) { return a; }\n#endif\n"
            "void h(void) {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n"
            "    c();\n  }\n}\n"),
            [("f", 4, 2), ("g", 1, 0), ("g", 1, 1), ("h", 9, 0)])

    def test_what_stands_in_extern_c_is_outside(self):
        self.assertEqual(functions(
            '#ifdef __cplusplus\nextern "C" {\n#endif\nvoid f(int a) {\n}\n'
            "#ifdef __cplusplus\n}\n#endif\n"), [("f", 2, 1)])

    def test_lines_are_right_behind_a_string_of_two_lines(self):
        tree = c_reader.CTree({"a.c": 'char* s = "a\\\nb";\nint f() {}\n'})
        self.assertEqual([f.line for f in tree.functions()], [3])

    def test_braces_that_do_not_match_are_reported(self):
        tree = c_reader.CTree({"a.c": "void f(void) {\n"})
        self.assertEqual(list(tree.functions()), [])
        self.assertEqual(tree.unreadable, ["a.c"])


class Types(unittest.TestCase):
    def test_definitions_are_found_and_declarations_are_not(self):
        self.assertEqual(types(
            "struct a;\nstruct a { int x; };\nstruct b* f(struct c* p);\n"
            "enum d { D };\nunion e { int x; struct g { int y; } z; };\n"),
            [(2, "struct", "a"), (4, "enum", "d"), (5, "union", "e"),
             (5, "struct", "g")])

    def test_a_typedef_of_the_same_tag_is_a_declaration(self):
        self.assertEqual(types(
            "typedef struct a a;\ntypedef struct b { int x; } b;\n"
            "typedef struct { int x; } c;\ntypedef struct a d;\n"),
            [(2, "struct", "b"), (3, "typedef", "c"), (4, "typedef", "d")])

    def test_typedefs_of_all_kinds_are_named(self):
        self.assertEqual([name for _, _, name in types(
            "typedef int a;\ntypedef unsigned long long b[4];\n"
            "typedef int (*c)(int, int);\ntypedef int d(int x);\n"
            "typedef const char* e;\ntypedef float f "
            "__attribute__((vector_size(16)));\n"
            "typedef enum { X, Y } g;\ntypedef int h, *i;\n")],
            list("abcdefghi"))

    def test_names_that_a_macro_makes_are_left_out(self):
        self.assertEqual(types(
            "typedef struct NAME(x) { int a; } NAME(x);\n"
            "#define T(n) typedef struct n##_s { int a; } n##_s;\n"), [])

    def test_comments_and_strings_hold_none(self):
        self.assertEqual(types('// struct a { int x; };\n'
                               'char* s = "typedef int b;";\n'), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
