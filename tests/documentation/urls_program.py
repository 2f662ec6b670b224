"""A program in Python that makes the keys of URLs by ext/URLS.md alone.

Written from that page, with other means than the C code: the parser of the URL Standard is another
one, escapes are undone in whole passes, Python's own Punycode and IPv6 do the names and addresses,
lists of components the paths.
"""
import ipaddress
import re
import unicodedata

SPECIAL = (b"http", b"https", b"ftp", b"ws", b"wss")


def byte_of(match):
    return bytes([int(match[1], 16)])


def escape(text, also=b""):
    return "".join(chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" + also else f"%{byte:02X}"
                   for byte in text)


def unescape(text):
    before = None
    while before != text:
        before = text
        text = re.sub(rb"%([0-9A-Fa-f]{2})", byte_of, text)
    return text


def four_parts(match):
    """An IPv4 address of four numbers as in C, in decimal; or what is no part of an address."""
    text = match[0]
    numbers = [number(part) for part in text.split(".")]
    fits = len(numbers) == 4 and all(value is not None and value < 256 for value in numbers)
    return ".".join(map(str, numbers)) if fits else "x"


def ipv6(text, strict=False):
    """The host that an IPv6 address gives, or None. Strict: as the standard writes it."""
    if not strict:
        text = text.partition(b"%")[0]
    try:
        text = text.decode("ascii").lower()
        if not strict:
            text = re.sub(r"(?<=:)[^:]*\.[^:]*$", four_parts, text)
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    for network in ("::ffff:0:0/96", "64:ff9b::/96"):
        if address in ipaddress.IPv6Network(network):
            return str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    value = int(address)
    groups = [f"{value >> shift & 0xFFFF:x}" for shift in range(112, -16, -16)]
    runs = [(start, end) for start in range(8) for end in range(start + 2, 9)
            if set(groups[start:end]) == {"0"}]
    if runs:
        start, end = max(runs, key=lambda run: (run[1] - run[0], -run[0]))
        return f"[{':'.join(groups[:start])}::{':'.join(groups[end:])}]"
    return f"[{':'.join(groups)}]"


def number(text):
    """A number as in C, or None."""
    if re.fullmatch(r"0x[0-9a-f]*", text):
        return int("0" + text[2:], 16)
    if re.fullmatch(r"0[0-7]*", text):
        return int(text, 8)
    return int(text) if re.fullmatch(r"[1-9][0-9]*", text) else None


def ipv4(name):
    parts = name.split(".")
    if len(parts) > 4:
        return None
    numbers = [number(part) for part in parts]
    if None in numbers or max(numbers) >= 2**32:
        return None
    left = 5 - len(numbers)
    data = bytes(number & 0xFF for number in numbers[:-1])
    data += (numbers[-1] % 256**left).to_bytes(left, "big")
    return ".".join(str(byte) for byte in data)


def start_of(text):
    """Where the authority starts, or None."""
    slashes = re.match(rb"[/\\]*", text).end()
    if slashes:
        return slashes if slashes > 1 else None
    scheme = re.match(rb"([A-Za-z][A-Za-z0-9+.-]*):", text)
    if not scheme:
        return 0
    if scheme[1].lower() in SPECIAL:
        return re.compile(rb"[/\\]*").match(text, scheme.end()).end()
    slashes = rb"[/\\]{2}" if scheme[1].lower() == b"file" else b"//"
    if re.compile(slashes).match(text, scheme.end()):
        return scheme.end() + 2 if re.match(rb"[^/\\]", text[scheme.end() + 2:]) else None
    authority = re.split(rb"[/\\?]", text)[0]
    if re.fullmatch(rb"\d+", authority[scheme.end():]):
        return 0
    zone = authority.partition(b"%")[2]
    return 0 if ipv6(authority) and b"[" not in zone and b"]" not in zone else None


def clean(url):
    """Step 1."""
    return re.sub(rb"[\t\r\n]", b"", url.strip(bytes(range(0x21)))).split(b"#")[0]


def for_parser(url):
    """Step 3: what the parser of the URL Standard is asked: text, or None."""
    url = clean(url)
    start = start_of(url)
    if not url or start is None:
        return None
    text = "http://" + url[start:].decode("utf-8", "surrogateescape") + "#"
    return re.sub("[\udc80-\udcff]", lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)


def is_path(url):
    return not url or re.match(rb"[/\\]([^/\\]|$)", url) is not None


def finish_path(rest):
    """Steps 5 and 12: path and query, of which nothing is escaped."""
    path, mark, query = rest.partition(b"?")
    kept, folder = [], True
    for component in path.split(b"/")[(path[:1] == b"/"):]:
        folder = component in (b"", b".", b"..")
        if component == b"..":
            del kept[-1:]
        elif not folder:
            kept.append(escape(component, b"\\"))
    return "/" + "/".join(kept) + ("/" if kept and folder else ""), escape(mark + query)


def finish_name(name):
    name = ".".join(label for label in name.split(".") if label)
    return ipv4(name) or name or None


def of_href(href):
    """Steps 4 and 5 for what the parser opens."""
    authority, rest = re.fullmatch(r"[a-z]+://([^/?#]*)([^#]*)(?:#.*)?", href).groups()
    authority = authority.rpartition("@")[2]
    bracketed = re.match(r"\[(.*)\]", authority)
    host = (ipv6(bracketed[1].encode(), True) if bracketed
            else finish_name(authority.partition(":")[0]))
    return (host, *finish_path(unescape(rest.encode("ascii")))) if host else None


class NoHost(Exception):
    pass


def label(text):
    text = text.lower()  # of bytes: ASCII only
    if max(text) > 0x7F and not re.search(rb"[\0-\x1f#%\\\x7f]", text):
        try:
            name = text.decode("utf-8").replace(" ", "%20").encode("punycode").decode("ascii")
        except UnicodeDecodeError:
            return escape(text, b"\\")
        if len(name) > 59:
            raise NoHost
        return "xn--" + name
    return escape(text, b"\\")


# What is mapped by step 9 may have signs in it that the parser refuses in every host, as they are
# or full-width. Signs that mean nothing to it, and that the host does not have, stand for them.
REFUSED = dict.fromkeys(map(chr, range(0x20)), "^") | {
    sign: sign if sign in "%[]: " else "^" for sign in ' %[]:#/<>?@\\^|\x7f'}
STAND_INS = "~`{}!$&'()+,;="


def texts_to_map(authority):
    """The texts of step 9 that are mapped, at most three, in the order in which they count."""
    if re.search(rb"[\[\]]", authority) or b":" not in authority:
        return [authority]
    return list(dict.fromkeys((authority, authority.rpartition(b":")[0],
                               authority.partition(b":")[0])))


def with_stand_ins(authority):
    """A text that is mapped, with other signs for the blank and %[]:^; and which sign stands for
    which. None when it is not UTF-8, when too few signs are free, or when the mapping makes a
    blank in a name with letters from right to left (RFC 5893)."""
    try:
        text = authority.decode("utf-8")
    except UnicodeDecodeError:
        return None
    text = text.replace(" ", "%20").replace("*", "%2a")
    whole = unicodedata.normalize("NFKC", text)
    if " " in whole and {"R", "AL", "AN"} & set(map(unicodedata.bidirectional, whole)):
        return None
    free = [sign for sign in STAND_INS if sign not in whole]
    signs = dict(zip("%[]:^ ", free))
    for character in set(text):
        mapped = unicodedata.normalize("NFKC", character)
        if mapped in REFUSED or " " in mapped:  # some marks are mapped to a blank and a mark
            text = text.replace(character, "".join(
                signs.get(REFUSED.get(part), part) for part in mapped))
    return (text, signs) if len(signs) == 6 else None


def for_mapping(url):
    """Step 9: what the parser is asked so that it maps hosts: three texts, which may be None.
    A label behind the host keeps it from being read as an address."""
    parts = authority_and_rest(url)
    found = [with_stand_ins(text) for text in (texts_to_map(parts[0]) if parts else [])]
    texts = [text and f"http://{text[0]}.x/" for text in found]
    return (texts + [None] * 3)[:3]


def mapped_host(authority, text, href):
    """Step 9: the host that mapping a text and undoing escapes once makes, or None. href: what the
    parser answers to for_mapping, or None."""
    host = href and re.fullmatch(r"http://(.*)\.x/", href)[1]
    if not host:
        return None
    for sign, stand_in in with_stand_ins(text)[1].items():
        host = host.replace(stand_in, sign)
    if len(host) > 765:
        return None
    changed = ("%" in host or " " in host) and b"%" not in text
    once = host.encode("ascii")
    if changed:
        once = re.sub(rb"%([0-9A-Fa-f]{2})", byte_of, once)
    bracketed = re.fullmatch(rb"\[([^\[\]]*)\](:.*)?", once, re.DOTALL)
    address = bracketed and ipv6(bracketed[1])
    if address or re.search(rb"[\[\]]", authority):
        return address
    if changed and re.fullmatch(rb"[ !\"$&'()*+,\-.;=_`{}~0-9A-Za-z]{1,255}", once):
        return finish_name(once.decode("ascii").lower().replace(" ", "%20"))
    return None


def resolve(rest):
    """The path as the standard resolves it, and the query."""
    path, mark, query = rest.partition(b"?")
    kept, dots = [], False
    for component in re.split(rb"[/\\]", path)[1:]:
        plain = component.lower().replace(b"%2e", b".")
        dots = plain in (b".", b"..")
        if plain == b"..":
            del kept[-1:]
        elif not dots:
            kept.append(component)
    kept += [b""] * dots
    return b"".join(b"/" + component for component in kept) + mark + query


def authority_and_rest(url):
    """Steps 6 and 7: the authority and what follows, of which nothing is escaped; or None."""
    url = clean(url)
    if is_path(url):
        return None
    start = start_of(url)
    if start is not None:
        authority = re.split(rb"[/\\?]", url[start:])[0]
        rest = resolve(url[start + len(authority):])
        url = url[:start] + authority[authority.rfind(b"@") + 1:] + rest
    url = unescape(url)
    start = start_of(url)
    if start is None:
        return None
    authority = re.split(rb"[/\\?]", url[start:])[0]
    return authority.rpartition(b"@")[2], url[start + len(authority):]


def refused(url, hrefs):
    """What the parser does not open. hrefs: what it answers to for_mapping(url)."""
    parts = authority_and_rest(url)
    if parts is None:
        return None
    authority, rest = parts
    has_brackets = b"[" in authority or b"]" in authority
    host = None if has_brackets else ipv6(authority)
    for text, href in zip(texts_to_map(authority), hrefs):
        host = host or mapped_host(authority, text, href)
    if host is None and has_brackets:
        return None
    if host is None:
        try:
            host = finish_name(
                ".".join(label(part) for part in authority.split(b":")[0].split(b".") if part))
        except NoHost:
            return None
    return (host, *finish_path(rest)) if host else None


def keys(parts):
    host, path, query = parts
    labels = host.split(".")
    hosts = [host]
    if ipv4(host) is None and not host.startswith("["):
        shorter = (".".join(labels[-count:]) for count in (5, 4, 3, 2) if count < len(labels))
        hosts += [name for name in shorter if ipv4(name) is None]
    folders = [path[:match.end()] for match in re.finditer("/", path)][:4]
    paths = dict.fromkeys([path + query, path] + folders[::-1])
    return [name + end for name in hosts for end in paths]
