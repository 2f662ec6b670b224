/* The canonical form of URLs and their keys. See url.h; the rules and their numbers are those of
 * ext/URLS.md.
 *
 * Sources: Google Safe Browsing, "URLs and Hashing" (Update API v4 and v5); RFC 3986 (URLs), 3492
 * (Punycode), 5952 (text of IPv6 addresses), 4291 and 6052 (IPv4 addresses in IPv6); POSIX
 * inet_addr for the spellings of IPv4 addresses.
 */
#include "filter/url.h"

#include "filter/portable.h"

#include <string.h>

/* RFC 1035: a label has at most 63 bytes. Names beyond that do not exist, and Punycode, which takes
 * quadratic time, is not tried for them. */
enum { LABEL_BYTES_MOST = 63, PUNYCODE_PREFIX_BYTES = 4 };
enum { PUNYCODE_BYTES_MOST = LABEL_BYTES_MOST - PUNYCODE_PREFIX_BYTES };

/* How many labels at the end of a host, and how many folders at the start of a path, counting the
 * root, make keys. */
enum { HOST_LABELS_MOST = 5, HOST_LABELS_LEAST = 2, FOLDERS_MOST = 4 };

enum { IPV4_BYTES = 4, IPV6_GROUPS = 8 };

/* --- Bytes --- */

static inline bool url_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

static inline bool url_is_letter(uint8_t byte) {
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static inline uint8_t url_lower(uint8_t byte) {
    return (uint8_t)(byte - 'A') < 26 ? (uint8_t)(byte + 0x20) : byte;
}

/* The value of a hexadecimal digit, 16 for any other byte. */
static inline unsigned url_digit(uint8_t byte) {
    unsigned letter = (unsigned)(byte | 0x20) - 'a';
    return url_is_digit(byte) ? byte - (unsigned)'0' : letter < 6 ? letter + 10 : 16;
}

/* Whether a byte stands for itself in a canonical text (rule 8). */
static inline bool url_is_plain(uint8_t byte) {
    return byte > ' ' && byte < 127 && byte != '#' && byte != '%';
}

static inline size_t url_write(uint8_t *to, uint8_t byte) {
    static const char DIGITS[] = "0123456789ABCDEF";
    if (url_is_plain(byte)) {
        to[0] = byte;
        return 1;
    }
    to[0] = '%';
    to[1] = (uint8_t)DIGITS[byte >> 4];
    to[2] = (uint8_t)DIGITS[byte & 15];
    return 3;
}

static size_t url_write_all(const uint8_t *bytes, size_t length, bool plain, uint8_t *to) {
    size_t used = 0;
    if (plain && length > 0) {
        memcpy(to, bytes, length);
        return length;
    }
    for (size_t i = 0; i < length; i++)
        used += url_write(to + used, bytes[i]);
    return used;
}

/* The first such byte from start on, or length when there is none. */
static size_t url_find(const uint8_t *text, size_t start, size_t length, uint8_t byte) {
    const uint8_t *found = start < length ? memchr(text + start, byte, length - start) : NULL;
    return found != NULL ? (size_t)(found - text) : length;
}

/* A word with the same byte eight times; one that has the upper bit of each byte that is zero, and
 * perhaps of the byte above such a one; and of each that is below least, at most 128. */
static inline uint64_t url_eight(uint8_t byte) {
    return UINT64_C(0x0101010101010101) * byte;
}

static inline uint64_t url_zeros(uint64_t word) {
    return (word - url_eight(1)) & ~word & url_eight(128);
}

static inline uint64_t url_below(uint64_t word, uint8_t least) {
    return (word - url_eight(least)) & ~word & url_eight(128);
}

/* Whether all bytes stand for themselves, as in most URLs, which then need only be copied. Eight at
 * a time; the last eight may have been looked at before. */
static bool url_all_plain(const uint8_t *bytes, size_t length) {
    if (length < 8) {
        size_t i = 0;
        while (i < length && url_is_plain(bytes[i]))
            i++;
        return i == length;
    }
    uint64_t special = 0;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = bloom_load64(bytes + (i + 8 <= length ? i : length - 8));
        special |= (word & url_eight(128)) | url_below(word, ' ' + 1) |
                   url_zeros(word ^ url_eight(127)) | url_zeros(word ^ url_eight('#')) |
                   url_zeros(word ^ url_eight('%'));
    }
    return special == 0;
}

/* Whether a slash is followed by a slash or dot, as in what rule 7 takes out. */
static bool url_has_dots(const uint8_t *path, size_t length) {
    size_t i = 0;
    uint64_t found = 0;
    for (; i + 9 <= length && found == 0; i += 8) {
        uint64_t next = bloom_load64(path + i + 1);
        found = url_zeros(bloom_load64(path + i) ^ url_eight('/')) &
                (url_zeros(next ^ url_eight('/')) | url_zeros(next ^ url_eight('.')));
    }
    for (; i + 1 < length && found == 0; i++)
        found = path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '.');
    return found != 0;
}

/* --- Rules 1 to 3: what is taken out, and escapes --- */

/* Each escape is undone as soon as its last digit is there. What it stands for may be the digit or
 * the sign that completes another, so this leaves what unescaping everything again and again would
 * leave: an escape never contains a part of another one, so their order does not matter. Each byte
 * comes once and each undone escape takes two away, so the time is linear. */
static size_t url_unescape(const uint8_t *bytes, size_t length, uint8_t *to) {
    size_t used = 0;
    for (size_t i = 0; i < length && bytes[i] != '#'; i++) {
        if (bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n')
            continue;
        to[used++] = bytes[i];
        while (used >= 3 && to[used - 3] == '%' && url_digit(to[used - 2]) < 16 &&
               url_digit(to[used - 1]) < 16) {
            to[used - 3] = (uint8_t)(url_digit(to[used - 2]) << 4 | url_digit(to[used - 1]));
            used -= 2;
        }
    }
    return used;
}

/* Takes spaces, and what rule 1 takes out anyway, off both ends. */
static void url_trim(const uint8_t **bytes, size_t *length) {
    while (*length > 0 && (**bytes == ' ' || **bytes == '\t' || **bytes == '\r' || **bytes == '\n'))
        ++*bytes, --*length;
    for (; *length > 0; --*length) {
        uint8_t last = (*bytes)[*length - 1];
        if (last != ' ' && last != '\t' && last != '\r' && last != '\n')
            break;
    }
}

/* --- Rule 6: addresses --- */

static size_t url_write_number(uint8_t *to, unsigned number, unsigned base) {
    uint8_t digits[3 + 1];
    size_t count = 0, used = 0;
    do
        digits[count++] = (uint8_t) "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    while (count > 0)
        to[used++] = digits[--count];
    return used;
}

static size_t url_write_ipv4(uint8_t *to, const uint8_t address[IPV4_BYTES]) {
    size_t used = 0;
    for (unsigned i = 0; i < IPV4_BYTES; i++) {
        if (i > 0)
            to[used++] = '.';
        used += url_write_number(to + used, address[i], 10);
    }
    return used;
}

/* A part of an IPv4 address as C writes numbers: 0x before hexadecimal, 0 before octal digits;
 * below 2^32. */
static bool url_read_part(const uint8_t *text, size_t length, uint32_t *number) {
    unsigned base = 10;
    uint64_t value = 0;
    size_t i = 0;
    if (length > 2 && text[0] == '0' && text[1] == 'x') {
        base = 16;
        i = 2;
    } else if (length > 1 && text[0] == '0') {
        base = 8;
        i = 1;
    }
    for (; i < length; i++) {
        unsigned digit = url_digit(text[i]);
        if (digit >= base)
            return false;
        value = value * base + digit;
        if (value > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* A host in lower case that inet_aton would take for an address: one to four parts, the last of
 * which fills the bytes that are left. Of a part that is too large only the last bytes count. */
static bool url_read_ipv4(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]) {
    uint32_t number = 0;
    unsigned parts = 0;
    for (size_t start = 0, end; start <= length; start = end + 1) {
        if (parts == IPV4_BYTES || start == length || !url_is_digit(text[start]))
            return false;
        end = url_find(text, start, length, '.');
        if (!url_read_part(text + start, end - start, &number))
            return false;
        address[parts++] = (uint8_t)number;
    }
    for (unsigned i = IPV4_BYTES; i >= parts; i--, number >>= 8)
        address[i - 1] = (uint8_t)number;
    return true;
}

/* The last 32 bits of an IPv6 address in four decimal parts without leading zeros. */
static bool url_read_dotted(const uint8_t *text, size_t length, uint16_t groups[2]) {
    unsigned parts[IPV4_BYTES];
    size_t i = 0;
    for (unsigned part = 0; part < IPV4_BYTES; part++) {
        size_t start = i;
        for (parts[part] = 0; i < length && url_is_digit(text[i]) && parts[part] < 256; i++)
            parts[part] = 10 * parts[part] + text[i] - '0';
        if (i == start || parts[part] > 255 || (text[start] == '0' && i > start + 1))
            return false;
        if (part < IPV4_BYTES - 1 && (i == length || text[i++] != '.'))
            return false;
    }
    groups[0] = (uint16_t)(parts[0] << 8 | parts[1]);
    groups[1] = (uint16_t)(parts[2] << 8 | parts[3]);
    return i == length;
}

/* An IPv6 address as RFC 4291 writes it. A zone, which counts on one machine only, is left out. */
static bool url_read_ipv6(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]) {
    unsigned count = 0, gap = IPV6_GROUPS; /* IPV6_GROUPS: no "::" */
    size_t i = 0;
    length = url_find(text, 0, length, '%');
    if (length >= 2 && text[0] == ':' && text[1] == ':') {
        gap = 0;
        i = 2;
    } else if (length == 0) {
        return false;
    }
    while (i < length) {
        size_t start = i;
        unsigned value = 0;
        for (; i < length && i - start < 4 && url_digit(text[i]) < 16; i++)
            value = value << 4 | url_digit(text[i]);
        if (i == start || count == IPV6_GROUPS)
            return false;
        if (i < length && text[i] == '.') {
            if (count > IPV6_GROUPS - 2 ||
                !url_read_dotted(text + start, length - start, groups + count))
                return false;
            count += 2;
            break;
        }
        groups[count++] = (uint16_t)value;
        if (i == length)
            break;
        if (text[i++] != ':' || i == length)
            return false;
        if (text[i] == ':') {
            if (gap < IPV6_GROUPS)
                return false;
            gap = count;
            i++;
        }
    }
    if (gap == IPV6_GROUPS)
        return count == IPV6_GROUPS;
    if (count == IPV6_GROUPS)
        return false; /* "::" stands for one group at least */
    memmove(groups + gap + IPV6_GROUPS - count, groups + gap, (count - gap) * sizeof *groups);
    memset(groups + gap, 0, (IPV6_GROUPS - count) * sizeof *groups);
    return true;
}

/* RFC 5952: the first of the longest runs of two and more zero groups becomes "::". An IPv4 address
 * in one of IPv6, as ::ffff:0:0/96 and 64:ff9b::/96 have it, is written as what it is. */
static size_t url_write_ipv6(uint8_t *to, const uint16_t groups[IPV6_GROUPS]) {
    static const uint16_t MAPPED[6] = {0, 0, 0, 0, 0, 0xffff}, TRANSLATED[6] = {0x64, 0xff9b};
    if (memcmp(groups, MAPPED, sizeof MAPPED) == 0 ||
        memcmp(groups, TRANSLATED, sizeof TRANSLATED) == 0) {
        const uint8_t address[IPV4_BYTES] = {(uint8_t)(groups[6] >> 8), (uint8_t)groups[6],
                                             (uint8_t)(groups[7] >> 8), (uint8_t)groups[7]};
        return url_write_ipv4(to, address);
    }
    unsigned gap = IPV6_GROUPS, longest = 1;
    for (unsigned i = 0, run = 0; i < IPV6_GROUPS; i++) {
        run = groups[i] == 0 ? run + 1 : 0;
        if (run > longest) {
            longest = run;
            gap = i + 1 - run;
        }
    }
    size_t used = 0;
    to[used++] = '[';
    for (unsigned i = 0; i < IPV6_GROUPS; i++) {
        if (i == gap) {
            to[used++] = ':';
            i += longest;
            if (i == IPV6_GROUPS)
                to[used++] = ':';
        }
        if (i > 0 && i < IPV6_GROUPS)
            to[used++] = ':';
        if (i < IPV6_GROUPS)
            used += url_write_number(to + used, groups[i], 16);
    }
    to[used++] = ']';
    return used;
}

/* --- Rule 6: names --- */

/* The code point at *i of UTF-8 by RFC 3629, behind which *i then stands; or beyond 0x10FFFF when
 * the bytes are none. */
static uint32_t url_code_point(const uint8_t *text, size_t length, size_t *i) {
    static const uint32_t LEAST[4] = {0, 0x80, 0x800, 0x10000};
    static const uint32_t BAD = UINT32_MAX;
    uint32_t first = text[(*i)++];
    unsigned more = first < 0x80 ? 0 : first < 0xc0 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (more > length - *i || first >= 0xf8 || more == 4)
        return BAD;
    uint32_t point = more == 0 ? first : first & (0x3fU >> more);
    for (unsigned j = 0; j < more; j++) {
        uint32_t next = text[(*i)++];
        if ((next & 0xc0) != 0x80)
            return BAD;
        point = point << 6 | (next & 0x3f);
    }
    return point < LEAST[more] || (point >= 0xd800 && point < 0xe000) ? BAD : point;
}

/* RFC 3492, section 6.1. */
static uint32_t url_adapt(uint32_t delta, uint32_t points, bool first) {
    uint32_t k = 0;
    delta = first ? delta / 700 : delta / 2;
    delta += delta / points;
    for (; delta > (35 * 26) / 2; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

/* A label beyond ASCII as its Punycode with the prefix xn--, section 6.3. Returns its length, or 0
 * when the label is not UTF-8, would not fit a label, or holds a byte that does not stand for
 * itself. No sum overflows: 59 times 0x110000 is below 2^27. */
static size_t url_punycode(const uint8_t *label, size_t length, uint8_t *to) {
    enum { BASE = 36, LEAST = 1, MOST = 26, BIAS = 72, START = 128 };
    uint32_t points[PUNYCODE_BYTES_MOST];
    uint8_t *out = to + PUNYCODE_PREFIX_BYTES;
    size_t count = 0, used = 0;
    for (size_t i = 0; i < length;) {
        uint32_t point = url_code_point(label, length, &i);
        if (point > 0x10ffff || count == PUNYCODE_BYTES_MOST)
            return 0;
        if (point < 0x80) {
            if (!url_is_plain((uint8_t)point))
                return 0;
            point = url_lower((uint8_t)point);
            out[used++] = (uint8_t)point;
        }
        points[count++] = point;
    }
    uint32_t done = (uint32_t)used, next = START, bias = BIAS, delta = 0;
    const uint32_t basic = done;
    if (used > 0)
        out[used++] = '-';
    while (done < count) {
        uint32_t least = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (points[i] >= next && points[i] < least)
                least = points[i];
        delta += (least - next) * (done + 1);
        next = least;
        for (size_t i = 0; i < count; i++) {
            delta += points[i] < next;
            if (points[i] != next)
                continue;
            uint32_t left = delta;
            for (uint32_t k = BASE;; k += BASE) {
                uint32_t threshold = k <= bias ? LEAST : k >= bias + MOST ? MOST : k - bias;
                uint32_t digit =
                    left < threshold ? left : threshold + (left - threshold) % (BASE - threshold);
                if (used == PUNYCODE_BYTES_MOST)
                    return 0;
                out[used++] = (uint8_t)(digit < 26 ? 'a' + digit : '0' + digit - 26);
                if (left < threshold)
                    break;
                left = (left - threshold) / (BASE - threshold);
            }
            bias = url_adapt(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        next++;
    }
    memcpy(to, "xn--", PUNYCODE_PREFIX_BYTES);
    return PUNYCODE_PREFIX_BYTES + used;
}

static size_t url_write_label(const uint8_t *label, size_t length, uint8_t *to) {
    size_t used = 0;
    uint8_t high = 0;
    for (size_t i = 0; i < length; i++)
        high |= label[i];
    if (high >= 0x80)
        used = url_punycode(label, length, to);
    if (used == 0)
        for (size_t i = 0; i < length; i++)
            used += url_write(to + used, url_lower(label[i]));
    return used;
}

/* --- Rules 4 to 6: from the whole to the host --- */

/* What lies between the scheme and the path. */
struct url_authority {
    size_t start; /* of the host, behind the user's name and password */
    size_t colon; /* the first behind it, or end */
    size_t end;
    bool brackets; /* whether there are any behind start */
};

static struct url_authority url_find_authority(const uint8_t *text, size_t start, size_t length) {
    struct url_authority found = {.start = start, .colon = length};
    size_t i = start;
    for (; i < length && text[i] != '/' && text[i] != '?'; i++) {
        uint8_t byte = text[i];
        if (byte > ']' || byte < ':') /* first, since most are letters */
            continue;
        if (byte == '@')
            found = (struct url_authority){.start = i + 1, .colon = length};
        else if (byte == ':' && found.colon == length)
            found.colon = i;
        else if (byte == '[' || byte == ']')
            found.brackets = true;
    }
    found.end = i;
    if (found.colon == length)
        found.colon = i;
    return found;
}

/* Where the host may begin, behind a scheme and slashes; false when there is a scheme without a
 * host. */
static bool url_skip_scheme(const uint8_t *text, size_t length, size_t *start) {
    uint16_t groups[IPV6_GROUPS];
    size_t colon = 0;
    *start = 0;
    if (length >= 2 && text[0] == '/' && text[1] == '/') {
        *start = 2;
        return true;
    }
    if (length == 0 || !url_is_letter(text[0]))
        return true;
    while (colon < length && (url_is_letter(text[colon]) || url_is_digit(text[colon]) ||
                              text[colon] == '+' || text[colon] == '-' || text[colon] == '.'))
        colon++;
    if (colon == length || text[colon] != ':')
        return true;
    if (length - colon > 2 && text[colon + 1] == '/' && text[colon + 2] == '/') {
        *start = colon + 3;
        return true;
    }
    /* Not a scheme: a host with a port, an IPv6 address, whose zone has no brackets. */
    size_t end = url_find_authority(text, 0, length).end, i = colon + 1;
    while (i < end && url_is_digit(text[i]))
        i++;
    if (i == end && i > colon + 1)
        return true;
    return url_find(text, 0, end, '[') == end && url_find(text, 0, end, ']') == end &&
           url_read_ipv6(text, end, groups);
}

/* Writes a name in lower case without empty labels; plain: its bytes stand for themselves. */
static size_t url_write_name(const uint8_t *name, size_t length, bool plain, uint8_t *to) {
    size_t used = 0;
    if (plain) {
        uint8_t before = '.';
        for (size_t i = 0; i < length; i++) {
            uint8_t byte = url_lower(name[i]);
            to[used] = byte;
            used += byte != '.' || before != '.';
            before = byte;
        }
        return used > 0 && before == '.' ? used - 1 : used;
    }
    for (size_t i = 0, dot; i < length; i = dot + 1) {
        dot = url_find(name, i, length, '.');
        if (dot == i)
            continue;
        if (used > 0)
            to[used++] = '.';
        used += url_write_label(name + i, dot - i, to + used);
    }
    return used;
}

/* Writes the host; false when there is none. */
static bool url_write_host(struct bloom_url *url, const uint8_t *text,
                           const struct url_authority *authority, bool plain, uint8_t *to) {
    uint16_t groups[IPV6_GROUPS];
    uint8_t address[IPV4_BYTES];
    size_t start = authority->start, length = authority->end - start;

    if (authority->brackets) {
        size_t close = url_find(text, start, authority->end, ']');
        if (text[start] != '[' || close == authority->end ||
            url_find(text, start + 1, close, '[') < close ||
            (close + 1 < authority->end && text[close + 1] != ':'))
            return false;
        start++;
        length = close - start;
    }
    url->address = authority->colon < authority->end && url_read_ipv6(text + start, length, groups);
    if (url->address) {
        url->host = url_write_ipv6(to, groups);
        return true;
    }
    if (authority->brackets)
        return false;
    url->host = url_write_name(text + start, authority->colon - start, plain, to);
    url->address = url_read_ipv4(to, url->host, address);
    if (url->address)
        url->host = url_write_ipv4(to, address);
    return url->host > 0;
}

/* --- Rule 7: the path --- */

/* Writes the path of length bytes behind used bytes of to; returns how many there are then. Before
 * each component `to` ends with a slash. */
static size_t url_write_path(const uint8_t *path, size_t length, bool plain, uint8_t *to,
                             size_t used) {
    const size_t root = used;
    if (plain && length > 0 && !url_has_dots(path, length)) {
        memcpy(to + used, path, length);
        return used + length;
    }
    to[used++] = '/';
    for (size_t i = 0, end; i < length; i = end + 1) {
        end = url_find(path, i, length, '/');
        size_t bytes = end - i;
        if (bytes == 0 || (bytes == 1 && path[i] == '.'))
            continue;
        if (bytes == 2 && path[i] == '.' && path[i + 1] == '.') {
            while (used > root + 1 && to[--used - 1] != '/')
                continue;
            continue;
        }
        used += url_write_all(path + i, bytes, plain, to + used);
        if (end < length)
            to[used++] = '/';
    }
    return used;
}

bool bloom_url_parse(struct bloom_url *url, const uint8_t *bytes, size_t length, uint8_t *text) {
    if (length == 0)
        return false; /* bytes may be NULL, to which nothing can be added */
    bool plain = url_all_plain(bytes, length);
    size_t start;
    if (!plain) {
        /* The unescaped text at the end of the room: what is written at its beginning never gets
         * there, since no byte becomes more than three, and a whole short host 5 more. */
        uint8_t *end = text + (size_t)(bloom_url_room(length) - length);
        url_trim(&bytes, &length);
        length = url_unescape(bytes, length, end);
        bytes = end;
        plain = url_all_plain(bytes, length);
    }
    if (!url_skip_scheme(bytes, length, &start))
        return false;
    struct url_authority authority = url_find_authority(bytes, start, length);
    if (!url_write_host(url, bytes, &authority, plain, text))
        return false;
    const uint8_t *path = bytes + authority.end;
    length -= authority.end;
    size_t query = url_find(path, 0, length, '?');
    url->path = url_write_path(path, query, plain, text, url->host);
    url->length = url->path + url_write_all(path + query, length - query, plain, text + url->path);
    return true;
}

/* --- Keys --- */

/* Where the hosts begin, the whole one first; returns how many there are. A shorter host that would
 * be an address is left out: it names another machine. */
static unsigned url_hosts(const struct bloom_url *url, const uint8_t *text,
                          size_t starts[HOST_LABELS_MOST]) {
    size_t dots[HOST_LABELS_MOST];
    uint8_t address[IPV4_BYTES];
    unsigned found = 0, count = 0;
    starts[count++] = 0;
    if (url->address)
        return count;
    for (size_t i = url->host; i > 0 && found < HOST_LABELS_MOST; i--)
        if (text[i - 1] == '.')
            dots[found++] = i;
    for (; found >= HOST_LABELS_LEAST; found--) {
        size_t start = dots[found - 1];
        if (!url_read_ipv4(text + start, url->host - start, address))
            starts[count++] = start;
    }
    return count;
}

/* Where the paths end, the whole one first; returns how many there are. */
static unsigned url_paths(const struct bloom_url *url, const uint8_t *text,
                          size_t ends[2 + FOLDERS_MOST]) {
    size_t folders[FOLDERS_MOST];
    unsigned found = 0, count = 0;
    ends[count++] = url->length;
    if (url->path < url->length)
        ends[count++] = url->path;
    for (size_t i = url->host; i < url->path && found < FOLDERS_MOST; i++)
        if (text[i] == '/')
            folders[found++] = i + 1;
    for (; found > 0; found--)
        if (folders[found - 1] < url->path)
            ends[count++] = folders[found - 1];
    return count;
}

unsigned bloom_url_keys(const struct bloom_url *url, const uint8_t *text,
                        struct bloom_url_key keys[BLOOM_URL_KEYS_MOST]) {
    size_t starts[HOST_LABELS_MOST], ends[2 + FOLDERS_MOST];
    unsigned hosts = url_hosts(url, text, starts), paths = url_paths(url, text, ends);
    unsigned count = 0;
    for (unsigned host = 0; host < hosts; host++)
        for (unsigned path = 0; path < paths; path++)
            keys[count++] = (struct bloom_url_key){starts[host], ends[path] - starts[host]};
    return count;
}
