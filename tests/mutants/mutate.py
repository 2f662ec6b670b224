"""Makes the mutants of a C source: one operator, bound, statement or pair of arguments changed, or
a limit (ext/base/limits.h) one more or one less where it is used.

mutants_of(text) gives them as (from, to, replacement): text[from:to] is to be replaced. It
knows the form that clang-format gives the sources, not C; what does not compile is for the compiler
to find. Constants of tables, declarations and preprocessor lines are left alone, and whatever
stands outside functions.
"""
import re

HIDDEN = re.compile(r"""/\*.*?\*/ | //[^\n]* | (?m:^)[ \t]*\#(?:\\\n|[^\n])*
                      | (?<!\\)"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.VERBOSE | re.DOTALL)
LIMIT = re.compile(r"\bbloom_limits\.\w+")
FUNCTION = re.compile(r"\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)

# What takes an operator's place. + - * & with spaces on both sides only: there the formatter leaves
# them out at a sign and at a pointer.
INSTEAD = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="], "&=": ["|="],
    "^=": ["|="], "<<=": [">>="], ">>=": ["<<="], "++": ["--"], "--": ["++"], "!": [""],
}
OPERATOR = re.compile(r"(?<=\s)(?:[-+*/%&|^]|<<|>>)?=(?=\s)|\+\+|--|!(?![=])"
                      r"|(?<=\s)(?:[-+*&/%|^<>]|<<|>>|[<>=!]=|&&|\|\|)(?=\s)")
NUMBER = re.compile(r"(?<![\w.])(\d+|0[xX][0-9a-fA-F]+)(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) \(")
CONTROL = re.compile(r"\s*(?:\} )?(?:else )?(?:if|for|while|switch) \(")
CALL = re.compile(r"\b(?!(?:if|while|for|switch|return|sizeof|defined)\b)[A-Za-z_]\w*\(")
DECLARES = re.compile(r"(const|static|struct|enum|union|typedef|extern|unsigned|signed|void|char|"
                      r"bool|int|long|short|float|double|size_t|_Alignas|"
                      r"\w+_t|sqlite3\w*|va_list|FILE) [\s*]*[\w{]|\w+ \*?\w+( =|;|\[|,)")


def masked(text):
    """With letters in place of what comments, texts and preprocessor lines have in them."""
    def mask(match):
        found = match.group()
        return re.sub(r"[^\n]", "_" if found[0] in "\"'" else " ", found)
    return HIDDEN.sub(mask, text)


def pieces(code, start):
    """Of what stands in brackets that are open at start: the ends of its parts."""
    depth, ends = 0, []
    for match in re.compile(r"[][(){},]").finditer(code, start):
        if match.group() in "([{":
            depth += 1
        elif match.group() != ",":
            depth -= 1
        if depth < 0 or depth == 0 and match.group() == ",":
            ends.append(match.start())
        if depth < 0:
            return ends
    return ends


def statements(code, start, end):
    """Those that end in a semicolon, and where each begins: at a line of its own."""
    begin = depth = 0
    for line in re.finditer(r"[^\n]*\n", code[start:end]):
        here = line.group().rstrip()
        if not begin and here:
            begin = start + line.start() + len(here) - len(here.lstrip())
        depth += here.count("(") - here.count(")")
        if depth > 0 or not here:
            continue
        last = start + line.start() + len(here) - 1
        text = code[begin:last + 1]
        if CONTROL.match(text) or re.search(r"[{};:]$|\belse$|\bdo$", text):
            if text[-1] == ";" and re.match(r"(?!case\b|default\b)[\w*(+-]", text) and not (
                    CONTROL.match(text) or DECLARES.match(text[:-1])):
                yield begin, last
            begin = 0


def mutants_of(text):
    code, found = masked(text), []
    for function in FUNCTION.finditer(code):
        start, end = function.span(1)
        for match in OPERATOR.finditer(code, start, end):
            found += [(*match.span(), other) for other in INSTEAD.get(match[0], ())]
        for match in NUMBER.finditer(code, start, end):
            number = int(match[0], 0)
            found += [(*match.span(), str(other)) for other in (number + 1, number - 1)
                      if other >= 0]
        for match in LIMIT.finditer(code, start, end):
            found += [(*match.span(), f"({match[0]} {by})") for by in ("+ 1", "- 1")]
        for match in CONDITION.finditer(code, start, end):
            span = match.end(), pieces(code, match.end())[-1]
            found.append((*span, f"!({text[slice(*span)]})"))
        for span in statements(code, start, end):
            found.append((*span, "\n" * text.count("\n", *span)))
        for match in CALL.finditer(code, start, end):
            ends = [match.end() - 1, *pieces(code, match.end())]
            for first, middle, last in zip(ends, ends[1:], ends[2:]):
                left, right = text[first + 1:middle].strip(), text[middle + 1:last].strip()
                if left != right:
                    found.append((first + 1, last, f"{right}, {left}"))
    return found
