"""Makes the mutants of a C source: one operator, bound, statement or pair of arguments changed.

mutants_of(text) gives them as (kind, from, to, replacement): text[from:to] is to be replaced. It
reads tokens, not C; what does not compile is for the compiler to find. Constants of tables,
declarations and preprocessor lines are left alone, and whatever stands outside functions.
"""
import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<line>(?m:^)[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+\.?\d*(?:[eE][-+]?\d+)?[uUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|
        [-+*/%&|^<>=!~?:;,.(){}\[\]])
""", re.VERBOSE | re.DOTALL)

# What takes an operator's place. + - * & stand between two operands only.
INSTEAD = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="], "&=": ["|="],
    "^=": ["|="], "<<=": [">>="], ">>=": ["<<="], "++": ["--"], "--": ["++"], "!": [""],
}
OPENING, CLOSING = "([{", ")]}"
WORDS_BEFORE_OPERANDS = {"return", "case", "else", "do"}
NOT_CALLED = {"if", "while", "for", "switch", "return", "sizeof", "_Static_assert", "defined"}
DECLARES = re.compile(r"(const|static|struct|enum|union|typedef|extern|unsigned|signed|void|char|"
                      r"bool|int|long|short|float|double|size_t|_Alignas|"
                      r"\w+_t|sqlite3\w*|va_list|FILE) [\s*]*\w|\w+ \*?\w+( =|;|\[|,)")


class Token:
    def __init__(self, match):
        self.kind, self.text = match.lastgroup, match.group()
        self.start, self.end = match.span()
        self.close = None  # of what opens: the index of what closes it


def tokens_of(text):
    """All tokens but comments and preprocessor lines, brackets paired."""
    tokens = [Token(match) for match in TOKEN.finditer(text)
              if match.lastgroup not in ("comment", "line")]
    opened = []
    for index, token in enumerate(tokens):
        if token.kind == "sign" and token.text in OPENING:
            opened.append(index)
        elif token.kind == "sign" and token.text in CLOSING and opened:
            tokens[opened.pop()].close = index
    return tokens


def function_bodies(tokens):
    """The ranges of tokens between the outermost braces that follow a parenthesis: of functions."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text == "{" and token.close is not None:
            if index and tokens[index - 1].text == ")":
                yield index + 1, token.close
            index = token.close
        index += 1


def operand_ends(token):
    return token.kind in ("number", "text") or token.text in ")]" or (
        token.kind == "word" and token.text not in WORDS_BEFORE_OPERANDS)


def operators(text, tokens, first, last):
    for index in range(first, last):
        token, before, after = tokens[index], tokens[index - 1], tokens[index + 1]
        if token.kind != "sign" or token.text not in INSTEAD:
            continue
        if token.text in "+-*&":
            # Spaces on both sides: the formatter leaves them out at a sign and at a pointer.
            if not operand_ends(before) or after.start == token.end or before.end == token.start:
                continue
        for other in INSTEAD[token.text]:
            yield "operator", token.start, token.end, other


def bounds(text, tokens, first, last):
    for index in range(first, last):
        token = tokens[index]
        if token.kind != "number" or not re.fullmatch(r"\d+|0[xX][0-9a-fA-F]+", token.text):
            continue
        number = int(token.text, 0)
        yield "bound", token.start, token.end, str(number + 1)
        if number > 0:
            yield "bound", token.start, token.end, str(number - 1)


def conditions(text, tokens, first, last):
    for index in range(first, last):
        token = tokens[index]
        if token.text in ("if", "while") and tokens[index + 1].close is not None:
            inner = tokens[index + 2].start, tokens[tokens[index + 1].close].start
            yield "condition", *inner, f"!({text[slice(*inner)]})"


def statements(text, tokens, first, last):
    """Those that end in a semicolon. Lines stay where they are."""
    index = first
    begins = True
    while index < last:
        token = tokens[index]
        if token.text in ("if", "for", "while", "switch") and tokens[index + 1].close is not None:
            index = tokens[index + 1].close + 1
            begins = True
            continue
        if token.text in ("{", "}", ";", ":") or token.text in ("else", "do"):
            begins = True
            index += 1
            continue
        if not begins:
            index += 1
            continue
        end = index
        while end < last and tokens[end].text not in ("{", ";", "}"):
            end = tokens[end].close + 1 if tokens[end].close is not None else end + 1
        if tokens[end].text == ";":
            span = token.start, tokens[end].start
            statement = text[slice(*span)]
            if not DECLARES.match(statement) and token.text not in ("case", "default"):
                yield "statement", *span, "\n" * statement.count("\n")
        begins = False
        index = end


def arguments(text, tokens, first, last):
    for index in range(first, last):
        opening = tokens[index + 1]
        if (tokens[index].kind != "word" or opening.text != "(" or opening.close is None
                or tokens[index].text in NOT_CALLED):
            continue
        pieces, start, inner = [], opening.end, index + 2
        while inner < opening.close:
            if tokens[inner].text == ",":
                pieces.append((start, tokens[inner].start))
                start = tokens[inner].end
            inner = tokens[inner].close + 1 if tokens[inner].close is not None else inner + 1
        pieces.append((start, tokens[opening.close].start))
        for one, other in zip(pieces, pieces[1:]):
            left, right = text[slice(*one)].strip(), text[slice(*other)].strip()
            if left != right:
                yield "arguments", one[0], other[1], f"{right}, {left}"


KINDS = (operators, bounds, conditions, statements, arguments)


def mutants_of(text):
    tokens = tokens_of(text)
    return [mutant for first, last in function_bodies(tokens) for kind in KINDS
            for mutant in kind(text, tokens, first, last)]
