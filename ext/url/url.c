/* Two attempts: a plain URL, as most are, is copied as it is read, and anything else goes through
 * the URL Standard's parser. If that parser refuses it, Safe Browsing's steps decide. The numbers
 * of steps below are those of ext/URLS.md.
 *
 * Sources: Google Safe Browsing, "URLs and Hashing" (Update API v4 and v5); RFC 3986 (URLs), 4291
 * and 6052 (IPv4 addresses in IPv6). */
#include "url/url.h"

#include "base/limits.h"
#include "url/address.h"
#include "url/bytes.h"
#include "url/idna.h"
#include "url/punycode.h"
#include "url/standard.h"

#include <string.h>

/* RFC 1035: a label has at most 63 bytes. */
enum { LABEL_BYTES_MOST = 63, PUNYCODE_PREFIX_BYTES = 4 };
enum { PUNYCODE_BYTES_MOST = LABEL_BYTES_MOST - PUNYCODE_PREFIX_BYTES };

/* How many labels at the end of a host make keys, and how many folders at the start of a path, the
 * root included. */
enum { HOST_LABELS_MOST = 5, HOST_LABELS_LEAST = 2, FOLDERS_MOST = 4 };

/* --- Bytes --- */

/* What bytes stay as they are in host and path of a canonical text: all that are printable
 * except # % and \. Those with no meaning in a line of a list may be in a plain path. */
enum { IS_KEPT = 1, IN_PLAIN_PATH = 2 };
#define K IS_KEPT
#define P (K | IN_PLAIN_PATH)
/* clang-format off */
static const uint8_t URL_BYTES[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, K, K, 0, K, 0, P, K, K, K, K, P, K, P, P, P,
    P, P, P, P, P, P, P, P, P, P, K, K, K, P, K, P,
    K, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
    P, P, P, P, P, P, P, P, P, P, P, K, 0, K, K, P,
    K, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
    P, P, P, P, P, P, P, P, P, P, P, K, K, K, P, 0,
};
/* clang-format on */
#undef K
#undef P

static inline size_t url_write(uint8_t *to, uint8_t byte) {
    static const char DIGITS[] = "0123456789ABCDEF";
    if (URL_BYTES[byte] != 0) {
        to[0] = byte;
        return 1;
    }
    to[0] = '%';
    to[1] = (uint8_t)DIGITS[byte >> 4];
    to[2] = (uint8_t)DIGITS[byte & 15];
    return 3;
}

/* --- Step 4: the host --- */

/* Writes an IPv6 address. One that embeds an IPv4 address (::ffff:0:0/96 and 64:ff9b::/96) is
 * written as that. */
static size_t url_write_groups(uint8_t *to, const uint16_t groups[IPV6_GROUPS]) {
    static const uint16_t MAPPED[6] = {0, 0, 0, 0, 0, 0xffff}, TRANSLATED[6] = {0x64, 0xff9b};
    const uint8_t address[IPV4_BYTES] = {(uint8_t)(groups[6] >> 8), (uint8_t)groups[6],
                                         (uint8_t)(groups[7] >> 8), (uint8_t)groups[7]};
    return memcmp(groups, MAPPED, sizeof MAPPED) == 0 ||
                   memcmp(groups, TRANSLATED, sizeof TRANSLATED) == 0
               ? url_write_ipv4(to, address)
               : url_write_ipv6(to, groups);
}

/* Removes empty labels from a name, in place. Returns the length that is left. */
static size_t url_drop_empty_labels(uint8_t *name, size_t length) {
    size_t used = 0;
    uint8_t before = '.';
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = name[i];
        name[used] = byte;
        used += byte != '.' || before != '.';
        before = byte;
    }
    return used > 0 && before == '.' ? used - 1 : used;
}

/* Finishes a name in lower case without empty labels, which may be an IPv4 address. Returns false
 * if it is empty. */
static bool url_finish_name(struct bloom_url *url, uint8_t *name, size_t length) {
    uint8_t address[IPV4_BYTES];
    url->address = url_read_ipv4(name, length, address);
    url->host = url->address ? url_write_ipv4(name, address) : length;
    return url->host > 0;
}

/* --- Steps 6 to 11: the host that the standard refuses --- */

/* Writes a label. A label of UTF-8 that is not ASCII becomes Punycode, in lower case and with its
 * blanks escaped. Returns its length, or 0 if it would be too long for a label. */
static size_t url_write_label(const uint8_t *label, size_t length, uint8_t *to) {
    uint32_t points[PUNYCODE_BYTES_MOST + 2]; /* an escape may go past the end */
    size_t count = 0, used = 0;
    uint8_t high = 0;
    bool plain = true, fits = true;
    for (size_t i = 0; i < length; i++) {
        high |= label[i];
        plain = plain && (label[i] >= 0x80 || label[i] == ' ' || URL_BYTES[label[i]] != 0);
    }
    for (size_t i = 0; high >= 0x80 && plain && i < length;) {
        uint32_t point = url_code_point(label, length, &i);
        plain = point != BLOOM_NOT_UTF8;
        fits = fits && count < PUNYCODE_BYTES_MOST;
        if (plain && fits && point == ' ')
            for (const char *escape = "%20"; *escape != '\0';)
                points[count++] = (uint8_t)*escape++;
        else if (plain && fits)
            points[count++] = point < 0x80 ? url_lower((uint8_t)point) : point;
    }
    if (high < 0x80 || !plain) {
        for (size_t i = 0; i < length; i++)
            used += url_write(to + used, url_lower(label[i]));
        return used;
    }
    used = fits
               ? url_punycode_encode(points, count, to + PUNYCODE_PREFIX_BYTES, PUNYCODE_BYTES_MOST)
               : 0;
    memcpy(to, "xn--", PUNYCODE_PREFIX_BYTES);
    return used > 0 ? PUNYCODE_PREFIX_BYTES + used : 0;
}

/* Writes a name label by label. Returns its length, or 0. */
static size_t url_write_labels(const uint8_t *name, size_t length, uint8_t *to) {
    size_t used = 0;
    for (size_t i = 0, dot; i < length; i = dot + 1) {
        dot = url_find(name, i, length, '.');
        if (dot == i)
            continue;
        if (used > 0)
            to[used++] = '.';
        size_t label = url_write_label(name + i, dot - i, to + used);
        if (label == 0)
            return 0;
        used += label;
    }
    return used;
}

/* Reads an IPv6 address. A zone is left out, because it means something on one machine only. */
static bool url_read_zoned(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]) {
    return url_read_ipv6(text, url_find(text, 0, length, '%'), groups);
}

/* Reads an address in brackets, which a port may follow. */
static bool url_read_bracketed(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]) {
    size_t close = url_find(text, 0, length, ']');
    return close < length && text[0] == '[' && url_find(text, 1, close, '[') == close &&
           (close + 1 == length || text[close + 1] == ':') &&
           url_read_zoned(text + 1, close - 1, groups);
}

/* Writes a host as Chromium does. It escapes each blank and `*` and maps the host as a name. Only
 * then does it undo the escapes, those that the mapping has made of full-width percent signs
 * included, and look for an address in brackets. It refuses a host with a percent sign that is not
 * part of an escape, so nothing is undone beside one. Returns false if this finds no address,
 * undoes nothing and makes no blank. */
static bool url_write_mapped_host(struct bloom_url *url, const uint8_t *host, size_t length,
                                  bool brackets, uint8_t *to) {
    uint8_t mapped[IDNA_ESCAPED_MOST];
    uint16_t groups[IPV6_GROUPS];
    size_t used, written = 0;
    bool changed = false;
    if (!url_idna(host, length, true, mapped, sizeof mapped, &used))
        return false;
    if (url_find(host, 0, length, '%') == length) {
        changed = url_find(mapped, 0, used, '%') < used || url_find(mapped, 0, used, ' ') < used;
        used = url_unescape(mapped, used, false, mapped);
    }
    url->address = url_read_bracketed(mapped, used, groups);
    if (url->address)
        url->host = url_write_groups(to, groups);
    if (url->address || brackets || !changed || used > IDNA_MOST)
        return url->address;
    for (size_t i = 0; i < used; i++) {
        const uint8_t byte = mapped[i] == ' ' ? mapped[i] : URL_HOST_BYTES[mapped[i]];
        if (byte == 0)
            return false;
        written += url_write(to + written, byte);
    }
    url->opened = url_finish_name(url, to, url_drop_empty_labels(to, written));
    return url->opened;
}

/* Writes a host that the standard refuses. Returns false if there is none. */
static bool url_write_refused_host(struct bloom_url *url, const uint8_t *text,
                                   const struct url_parts *parts, uint8_t *to) {
    uint16_t groups[IPV6_GROUPS];
    const uint8_t *host = text + parts->user_end;
    const size_t length = parts->end - parts->user_end;
    if (!parts->brackets && url_read_zoned(host, length, groups)) {
        url->address = true;
        url->host = url_write_groups(to, groups);
        return true;
    }
    if (url_write_mapped_host(url, host, length, true, to))
        return true;
    if (parts->brackets)
        return false;
    /* For Chromium the port begins at the last colon that is not an escape, for names as they are
     * at the first one. */
    const size_t name = parts->host_end - parts->user_end;
    size_t last = length;
    while (last > name && host[last - 1] != ':')
        last--;
    last = last > name ? last - 1 : length;
    return url_write_mapped_host(url, host, last, false, to) ||
           (name < last && url_write_mapped_host(url, host, name, false, to)) ||
           url_finish_name(url, to, url_write_labels(host, name, to));
}

/* --- Steps 5 and 12: path and query --- */

/* Writes a path after `used` bytes of `to`. Returns how many bytes there are then. Before each
 * component, `to` ends with a slash. */
static size_t url_write_path(const uint8_t *path, size_t length, uint8_t *to, size_t used) {
    const size_t root = used;
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
        for (size_t j = i; j < end; j++)
            used += url_write(to + used, path[j]);
        if (end < length)
            to[used++] = '/';
    }
    return used;
}

/* Writes path and query, without any escape left, after the host. */
static void url_write_rest(struct bloom_url *url, const uint8_t *rest, size_t length,
                           uint8_t *text) {
    size_t query = url_find(rest, 0, length, '?');
    url->path = url->length = url_write_path(rest, query, text, url->host);
    for (size_t i = query; i < length; i++) {
        text[url->length] = '\\';
        url->length += rest[i] == '\\' ? 1 : url_write(text + url->length, rest[i]);
    }
}

/* --- The whole --- */

/* Returns the length of the plain name with which a text begins, or 0. A plain name consists of
 * letters in lower case, digits and two signs, hyphen and dot. No sign comes twice in a row, so
 * there is no Punycode. It does not begin with a sign, and its last sign is a dot with a letter
 * after it, so no parser reads it as a number or changes it. It ends before any other byte. */
static size_t url_plain_name(const uint8_t *text, size_t length) {
    size_t end = 0, last = 0; /* the last sign */
    uint64_t stops, before = '.';
    do {
        const uint64_t word = url_word(text, end, length), low = word & url_eight(127);
        uint64_t signs = url_between(low, '-', '.');
        stops = (~(signs | url_between(low, 'a', 'z') | url_between(low, '0', '9')) | word) &
                url_eight(128);
        signs &= (stops ^ (stops - 1)) & url_eight(128); /* up to the first stop */
        /* A sign after the same sign; before the first byte a dot is assumed. (url_zeros may also
         * set a bit for a sign after `,` or `/`, but these are stops.) */
        if ((url_zeros(word ^ (word << 8 | before)) & signs) != 0)
            return 0;
        before = word >> 56;
        last = signs != 0 ? end + bloom_log2_floor(signs) / 8 : last;
        end += stops != 0 ? bloom_lowest_one64(stops) / 8 : sizeof word;
    } while (stops == 0);
    return last + 1 < end && text[0] != '-' && text[last] == '.' && url_is_letter(text[last + 1])
               ? end
               : 0;
}

/* The same for an IPv4 address as it is written in a key. */
static size_t url_plain_ipv4(const uint8_t *text, size_t length) {
    size_t i = 0;
    for (unsigned part = 0; part < IPV4_BYTES; part++) {
        const size_t start = i += part > 0;
        unsigned value = 0;
        while (i < length && i - start < 3 && url_is_digit(text[i]))
            value = 10 * value + text[i++] - '0';
        if (i == start || value > 255 || (text[start] == '0' && i - start > 1) ||
            (part < IPV4_BYTES - 1 && (i == length || text[i] != '.')))
            return 0;
    }
    return i;
}

/* Reads a plain URL whose path and query have bytes of one kind: IN_PLAIN_PATH, or IS_KEPT if it is
 * not in a list. */
static inline bool url_read_plain(struct bloom_url_plain *plain, const uint8_t *text, size_t length,
                                  uint8_t in_path) {
    size_t i = 0;
    if (length > 8 && memcmp(text, "http", 4) == 0 &&
        memcmp(text + 4 + (text[4] == 's'), "://", 3) == 0)
        i = 7 + (text[4] == 's');
    plain->host = i;
    i += url_plain_name(text + i, length - i);
    plain->address = i == plain->host;
    if (plain->address)
        i += url_plain_ipv4(text + i, length - i);
    plain->host_end = plain->path = plain->end = i;
    if (i == plain->host || !bloom_limits.url_plain)
        return false;
    if (i < length && text[i] == ':') {
        const size_t port = ++i;
        while (i < length && i - port <= 5 && url_is_digit(text[i]))
            i++;
        if (i == port || !url_is_port(text + port, i - port))
            return false;
        plain->path = plain->end = i;
    }
    if (i == length || (text[i] != '/' && (text[i] != '?' || in_path != IS_KEPT)))
        return i == length || (URL_BYTES[text[i]] & in_path) == 0;
    if (plain->address && in_path != IS_KEPT && i + 1 < length && url_is_digit(text[i + 1]))
        return false;
    for (uint8_t before = 0; i < length && (URL_BYTES[text[i]] & in_path) != 0; i++) {
        if (before == '/' && (text[i] == '/' || text[i] == '.'))
            break;
        before = text[i];
    }
    if (i < length && (text[i] == '/' || text[i] == '.') &&
        url_find(text, plain->path, i, '?') == i)
        return false; /* dots and empty components must be resolved, except in a query */
    while (i < length && (URL_BYTES[text[i]] & in_path) != 0)
        i++;
    plain->end = i;
    return true;
}

bool bloom_url_read_plain(struct bloom_url_plain *plain, const uint8_t *text, size_t length) {
    return url_read_plain(plain, text, length, IN_PLAIN_PATH);
}

void bloom_url_write_plain(struct bloom_url *url, const struct bloom_url_plain *plain,
                           const uint8_t *text, uint8_t *to) {
    const size_t host = plain->host_end - plain->host, rest = plain->end - plain->path;
    size_t length = host;
    memcpy(to, text + plain->host, host);
    if (rest == 0 || text[plain->path] != '/')
        to[length++] = '/';
    if (rest > 0) /* most entries of lists are a name only: a call less */
        memcpy(to + length, text + plain->path, rest);
    length += rest;
    *url = (struct bloom_url){.host = host,
                              .path = url_find(to, host + 1, length, '?'),
                              .length = length,
                              .address = plain->address,
                              .opened = true,
                              .scheme = plain->host > 0};
}

/* Finishes a URL that the standard's parser opens. */
static bool url_parse_opened(struct bloom_url *url, const struct url_opened *opened, uint8_t *text,
                             uint8_t *scratch) {
    uint16_t groups[IPV6_GROUPS];
    if (text[0] == '[') {
        url->address = url_read_ipv6(text + 1, opened->host - 2, groups);
        url->host = url_write_groups(text, groups);
    } else if (!url_finish_name(url, text, url_drop_empty_labels(text, opened->host))) {
        return false;
    }
    url->scheme = opened->scheme;
    size_t length = url_unescape(opened->rest, opened->rest_bytes, true, scratch);
    url_write_rest(url, scratch, length, text);
    return true;
}

/* Parses a URL that it refuses. User and password are removed, the path is resolved, and everything
 * is unescaped before it is split again. */
static bool url_parse_refused(struct bloom_url *url, const uint8_t *bytes, size_t length,
                              uint8_t *text, uint8_t *scratch) {
    struct url_parts parts;
    length = url_clean(bytes, length, scratch);
    url_split(&parts, scratch, length);
    if (parts.end > 0)
        length = parts.end + url_resolve(scratch + parts.end, length - parts.end);
    memmove(scratch + parts.user, scratch + parts.user_end, length - parts.user_end);
    length = url_unescape(scratch, length - (parts.user_end - parts.user), true, scratch);
    if ((!url_split(&parts, scratch, length) && !parts.brackets) ||
        !url_write_refused_host(url, scratch, &parts, text))
        return false;
    url->scheme = parts.scheme;
    url_write_rest(url, scratch + parts.end, length - parts.end, text);
    return true;
}

void bloom_url_lower(uint8_t *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        text[i] = url_lower(text[i]);
}

bool bloom_url_parse(struct bloom_url *url, const uint8_t *bytes, size_t length, uint8_t *text) {
    struct bloom_url_plain plain;
    struct url_opened opened;
    url->opened = true;
    if (length == 0)
        return false; /* bytes may be NULL, to which nothing can be added */
    if (url_read_plain(&plain, bytes, length, IS_KEPT) && plain.end == length) {
        bloom_url_write_plain(url, &plain, bytes, text);
        return true;
    }
    /* The end of the room. What is written at its beginning never reaches it, because no byte of
     * path and query becomes more than three, and the host has room of its own. */
    uint8_t *scratch = text + (size_t)(BLOOM_URL_ROOM(length) - length);
    const enum url_opening opening = url_open(&opened, bytes, length, text, scratch);
    if (opening == URL_OPENED)
        return url_parse_opened(url, &opened, text, scratch);
    url->opened = false;
    if (opening == URL_NOWHERE || !url_parse_refused(url, bytes, length, text, scratch))
        return false;
    /* With its escapes undone, a text may begin with a scheme, and then it has another host. */
    url->opened |= opening == URL_LENIENT && url->scheme == opened.scheme;
    return true;
}

/* --- Keys --- */

/* Finds where the hosts begin, the whole one first. Returns how many there are. A shorter host that
 * would be an address is left out, because it names another machine. */
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

/* Finds where the paths end, the whole one first. Returns how many there are. */
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
