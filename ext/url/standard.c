/* Finds each part of a URL as a whole, with the same result as the state machine of the URL
 * Standard (WHATWG, "URL parsing" and "Host parsing"), which goes through a URL byte by byte. Then
 * each part has rules of its own. */
#include "url/standard.h"

#include "url/address.h"
#include "url/bytes.h"
#include "url/idna.h"

/* All except the forbidden domain code points: C0 controls, space, # % / : < > ? @ [ \ ] ^ | and
 * DEL. */
#define ROW(a, b, c, d, e, f, g, h) a, b, c, d, e, f, g, h
#define NONE ROW(0, 0, 0, 0, 0, 0, 0, 0)
/* clang-format off */
const uint8_t URL_HOST_BYTES[256] = {
    NONE, NONE, NONE, NONE,
    ROW(0, '!', '"', 0, '$', 0, '&', '\''), ROW('(', ')', '*', '+', ',', '-', '.', 0),
    ROW('0', '1', '2', '3', '4', '5', '6', '7'), ROW('8', '9', 0, ';', 0, '=', 0, 0),
    ROW(0, 'a', 'b', 'c', 'd', 'e', 'f', 'g'), ROW('h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'),
    ROW('p', 'q', 'r', 's', 't', 'u', 'v', 'w'), ROW('x', 'y', 'z', 0, 0, 0, 0, '_'),
    ROW('`', 'a', 'b', 'c', 'd', 'e', 'f', 'g'), ROW('h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'),
    ROW('p', 'q', 'r', 's', 't', 'u', 'v', 'w'), ROW('x', 'y', 'z', '{', 0, '}', '~', 0),
};
/* clang-format on */
#undef ROW
#undef NONE

bool url_is_port(const uint8_t *text, size_t length) {
    uint32_t port = 0;
    for (size_t i = 0; i < length; i++) {
        if (!url_is_digit(text[i]))
            return false;
        port = port * 10 + text[i] - '0';
        if (port > UINT16_MAX)
            return false;
    }
    return true;
}

/* --- The parts --- */

static bool standard_is_scheme(const uint8_t *text, size_t length, const char *scheme) {
    size_t i = 0;
    while (i < length && url_lower(text[i]) == (uint8_t)scheme[i])
        i++;
    return i == length && scheme[i] == '\0';
}

static bool standard_is_special(const uint8_t *text, size_t length) {
    static const char SCHEMES[][6] = {"http", "https", "ftp", "ws", "wss"};
    size_t scheme = 0;
    while (scheme < sizeof SCHEMES / sizeof *SCHEMES &&
           !standard_is_scheme(text, length, SCHEMES[scheme]))
        scheme++;
    return scheme < sizeof SCHEMES / sizeof *SCHEMES;
}

static size_t standard_skip_slashes(const uint8_t *text, size_t i, size_t length) {
    while (i < length && url_is_slash(text[i]))
        i++;
    return i;
}

/* Finds where user and host may start, after a scheme and slashes. Returns false for a scheme
 * without a host, and for a path. */
static bool standard_skip_scheme(const uint8_t *text, size_t length, size_t *start) {
    uint16_t groups[IPV6_GROUPS];
    size_t colon = 0;
    *start = standard_skip_slashes(text, 0, length);
    if (*start > 0)
        return *start > 1;
    if (length == 0 || !url_is_letter(text[0]))
        return true;
    while (colon < length && (url_is_letter(text[colon]) || url_is_digit(text[colon]) ||
                              text[colon] == '+' || text[colon] == '-' || text[colon] == '.'))
        colon++;
    if (colon == length || text[colon] != ':')
        return true;
    if (standard_is_special(text, colon)) {
        *start = standard_skip_slashes(text, colon + 1, length);
        return true;
    }
    if (length - colon > 2 && url_is_slash(text[colon + 1]) && url_is_slash(text[colon + 2]) &&
        ((text[colon + 1] == '/' && text[colon + 2] == '/') ||
         standard_is_scheme(text, colon, "file"))) {
        *start = colon + 3;
        return *start < length && !url_is_slash(text[*start]);
    }
    /* Not a scheme, but a host with a port, or an IPv6 address, whose zone has no brackets. */
    size_t end = 0, digits = colon + 1, address;
    while (end < length && !url_is_slash(text[end]) && text[end] != '?')
        end++;
    while (digits < end && url_is_digit(text[digits]))
        digits++;
    if (digits == end && digits > colon + 1)
        return true;
    address = url_find(text, 0, end, '%');
    return url_find(text, address, end, '[') == end && url_find(text, address, end, ']') == end &&
           url_read_ipv6(text, address, groups);
}

bool url_split(struct url_parts *parts, const uint8_t *text, size_t length) {
    size_t i, close;
    bool brackets = false;
    *parts = (struct url_parts){0};
    if (!standard_skip_scheme(text, length, &i))
        return false;
    size_t user = i, host = i, colon = length;
    for (; i < length; i++) {
        uint8_t byte = text[i];
        if (byte > ']') /* first, because most are letters */
            continue;
        if (byte == '/' || byte == '\\' || byte == '?')
            break;
        if (byte == '@') {
            host = i + 1;
            colon = length;
            brackets = false;
        } else if (byte == ':' && colon == length) {
            colon = i;
        } else if (byte == '[' || byte == ']') {
            brackets = true;
        }
    }
    *parts = (struct url_parts){.user = user,
                                .user_end = host,
                                .host = host,
                                .host_end = colon < i ? colon : i,
                                .end = i,
                                .brackets = brackets,
                                .scheme = user > 0 && !url_is_slash(text[0])};
    if (!brackets)
        return true;
    close = url_find(text, host, i, ']');
    if (text[host] != '[' || close == i || url_find(text, host + 1, close, '[') < close ||
        (close + 1 < i && text[close + 1] != ':'))
        return false;
    parts->host = host + 1;
    parts->host_end = close;
    return true;
}

/* --- The host --- */

/* Each escape is undone as soon as its last digit is written. The result may be a digit or a sign
 * that completes another escape, unless each byte is undone once only. The result is the same as
 * unescaping everything again and again, because an escape never contains a part of another one.
 * The time is linear, because each byte is written once and each escape removes two. */
size_t url_unescape(const uint8_t *bytes, size_t length, bool again, uint8_t *to) {
    size_t used = url_find(bytes, 0, length, '%'), undone = 0; /* nothing can be undone before */
    memmove(to, bytes, used);
    for (size_t i = used; i < length; i++) {
        to[used++] = bytes[i];
        while (used - undone >= 3 && to[used - 3] == '%' && url_digit(to[used - 2]) < 16 &&
               url_digit(to[used - 1]) < 16) {
            to[used - 3] = (uint8_t)(url_digit(to[used - 2]) << 4 | url_digit(to[used - 1]));
            used -= 2;
            undone = again ? 0 : used;
        }
    }
    return used;
}

/* Returns true if a name in lower case is ASCII without Punycode, so that UTS #46 does not change
 * it. */
static bool standard_is_ascii(const uint8_t *name, size_t length) {
    size_t label = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] >= 0x80)
            return false;
        if (name[i] == '.')
            label = i + 1;
        else if (i == label + 3 && memcmp(name + label, "xn--", 4) == 0)
            return false;
    }
    return true;
}

/* Undoes escapes of a host in place and writes what it means. Returns its length, or 0 if no
 * browser opens it. lenient reports whether only Chromium opens it, which does not check Punycode
 * in a name that is all ASCII. */
static size_t standard_write_host(uint8_t *bytes, size_t length, uint8_t *to, bool *lenient) {
    uint8_t address[IPV4_BYTES], high = 0;
    const size_t unescaped = url_unescape(bytes, length, false, bytes);
    size_t used = unescaped;
    for (size_t i = 0; i < unescaped; i++) {
        bytes[i] = url_lower(bytes[i]);
        high |= bytes[i];
    }
    const bool ascii = standard_is_ascii(bytes, unescaped);
    *lenient = !ascii && !url_idna(bytes, unescaped, false, to, IDNA_MOST, &used);
    if (*lenient && high >= 0x80)
        return 0;
    if (*lenient || ascii) {
        memcpy(to, bytes, unescaped);
        used = unescaped;
    }
    for (size_t i = 0; i < used; i++)
        if (URL_HOST_BYTES[to[i]] == 0)
            return 0;
    switch (url_read_number(to, used, address)) {
    case URL_ADDRESS:
        return url_write_ipv4(to, address);
    case URL_BAD_NUMBER:
        return 0;
    case URL_NO_NUMBER:
        break;
    }
    return used;
}

/* --- The path --- */

/* Returns 1 or 2 for a component of one or two dots, which may be escaped, and 0 for any other. */
static unsigned standard_dots(const uint8_t *component, size_t length) {
    unsigned dots = 0;
    for (size_t i = 0; i < length; dots++) {
        if (component[i] == '.')
            i++;
        else if (length - i > 2 && component[i] == '%' && component[i + 1] == '2' &&
                 (component[i + 2] | 0x20) == 'e')
            i += 3;
        else
            return 0;
        if (dots == 2)
            return 0;
    }
    return dots;
}

/* Components may be empty here. The time is linear, because each byte is dropped at most once. */
size_t url_resolve(uint8_t *text, size_t length) {
    size_t query = url_find(text, 0, length, '?'), used = 0;
    for (size_t start = 1, end; start <= query; start = end + 1) {
        for (end = start; end < query && !url_is_slash(text[end]);)
            end++;
        unsigned dots = standard_dots(text + start, end - start);
        if (dots == 2)
            while (used > 0 && text[--used] != '/')
                continue;
        if (dots == 0 || end == query)
            text[used++] = '/';
        if (dots == 0) {
            memmove(text + used, text + start, end - start);
            used += end - start;
        }
    }
    memmove(text + used, text + query, length - query);
    return used + length - query;
}

/* --- The whole --- */

size_t url_clean(const uint8_t *bytes, size_t length, uint8_t *to) {
    size_t start = 0, used = 0;
    while (start < length && bytes[start] <= ' ')
        start++;
    while (length > start && bytes[length - 1] <= ' ')
        length--;
    length = url_find(bytes, start, length, '#');
    for (size_t i = start; i < length; i++) {
        to[used] = bytes[i];
        used += bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n';
    }
    return used;
}

enum url_opening url_open(struct url_opened *opened, const uint8_t *bytes, size_t length,
                          uint8_t *text, uint8_t *scratch) {
    uint16_t groups[IPV6_GROUPS];
    struct url_parts parts;
    bool lenient = false;
    length = url_clean(bytes, length, scratch);
    if (length == 0 || (url_is_slash(scratch[0]) && (length == 1 || !url_is_slash(scratch[1]))))
        return URL_NOWHERE;
    if (!url_split(&parts, scratch, length))
        return URL_REFUSED;
    size_t port = parts.host_end + parts.brackets;
    if (port < parts.end && !url_is_port(scratch + port + 1, parts.end - port - 1))
        return URL_REFUSED;
    if (parts.brackets) {
        if (!url_read_ipv6(scratch + parts.host, parts.host_end - parts.host, groups))
            return URL_REFUSED;
        opened->host = url_write_ipv6(text, groups);
    } else {
        opened->host =
            standard_write_host(scratch + parts.host, parts.host_end - parts.host, text, &lenient);
    }
    if (opened->host == 0)
        return URL_REFUSED;
    opened->scheme = parts.scheme;
    if (lenient)
        return URL_LENIENT;
    opened->rest = scratch + parts.end;
    opened->rest_bytes = url_resolve(scratch + parts.end, length - parts.end);
    return URL_OPENED;
}
