/* One reader takes every spelling of an IPv4 address apart into its parts. The functions above it
 * differ in how large a part may be. IPv6 addresses use it for their last 32 bits.
 *
 * Sources: the URL Standard (WHATWG), "Host parsing"; POSIX inet_addr for the spellings of IPv4
 * addresses; RFC 4291 and 5952 for those of IPv6 addresses.
 */
#include "url/address.h"

#include "url/bytes.h"

#include <string.h>

static size_t address_write_number(uint8_t *to, unsigned number, unsigned base) {
    uint8_t digits[5];
    size_t count = 0, used = 0;
    do
        digits[count++] = (uint8_t) "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    while (count > 0)
        to[used++] = digits[--count];
    return used;
}

size_t url_write_ipv4(uint8_t *to, const uint8_t address[IPV4_BYTES]) {
    size_t used = 0;
    for (unsigned i = 0; i < IPV4_BYTES; i++) {
        if (i > 0)
            to[used++] = '.';
        used += address_write_number(to + used, address[i], 10);
    }
    return used;
}

/* Reads a part of an IPv4 address, which is not empty, as C writes numbers: 0x before hexadecimal
 * digits, 0 before octal ones, and below 2^32. Only 0x is 0. */
static bool address_read_part(const uint8_t *text, size_t length, uint32_t *number) {
    unsigned base = 10;
    uint64_t value = 0;
    size_t i = 0;
    if (length > 1 && text[0] == '0' && url_lower(text[1]) == 'x') {
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

/* Reads the parts of an address. Returns how many there are, at most 4, or 0 if it is not one. */
static unsigned address_read_parts(const uint8_t *text, size_t length, uint32_t parts[IPV4_BYTES]) {
    unsigned count = 0;
    for (size_t start = 0, end; start <= length; start = end + 1) {
        if (count == IPV4_BYTES || start == length || !url_is_digit(text[start]))
            return 0;
        end = url_find(text, start, length, '.');
        if (!address_read_part(text + start, end - start, &parts[count++]))
            return 0;
    }
    return count;
}

static void address_from_parts(const uint32_t parts[IPV4_BYTES], unsigned count,
                               uint8_t address[IPV4_BYTES]) {
    uint32_t last = parts[count - 1];
    for (unsigned i = 0; i < count - 1; i++)
        address[i] = (uint8_t)parts[i];
    for (unsigned i = IPV4_BYTES; i >= count; i--, last >>= 8)
        address[i - 1] = (uint8_t)last;
}

bool url_read_ipv4(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]) {
    uint32_t parts[IPV4_BYTES];
    unsigned count = address_read_parts(text, length, parts);
    if (count > 0)
        address_from_parts(parts, count, address);
    return count > 0;
}

enum url_number url_read_number(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]) {
    uint32_t parts[IPV4_BYTES];
    length -= length > 1 && text[length - 1] == '.';
    size_t last = length;
    while (last > 0 && text[last - 1] != '.')
        last--;
    if (last == length || !url_is_digit(text[last]))
        return URL_NO_NUMBER;
    bool hexadecimal = length - last > 1 && text[last] == '0' && text[last + 1] == 'x';
    for (size_t i = last + (hexadecimal ? 2 : 0); i < length; i++)
        if (url_digit(text[i]) >= (hexadecimal ? 16 : 10))
            return URL_NO_NUMBER;
    unsigned count = address_read_parts(text, length, parts);
    if (count == 0)
        return URL_BAD_NUMBER;
    for (unsigned i = 0; i < count - 1; i++)
        if (parts[i] > 255)
            return URL_BAD_NUMBER;
    if (count > 1 && parts[count - 1] >> (8 * (IPV4_BYTES + 1 - count)) > 0)
        return URL_BAD_NUMBER;
    address_from_parts(parts, count, address);
    return URL_ADDRESS;
}

/* Reads the last 32 bits of an IPv6 address in four parts up to 255. */
static bool address_read_dotted(const uint8_t *text, size_t length, uint16_t groups[2]) {
    uint32_t parts[IPV4_BYTES];
    if (address_read_parts(text, length, parts) != IPV4_BYTES)
        return false;
    for (unsigned part = 0; part < IPV4_BYTES; part++)
        if (parts[part] > 255)
            return false;
    groups[0] = (uint16_t)(parts[0] << 8 | parts[1]);
    groups[1] = (uint16_t)(parts[2] << 8 | parts[3]);
    return true;
}

bool url_read_ipv6(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]) {
    enum { NO_GAP = IPV6_GROUPS + 1 }; /* "::" may follow all groups, where it is refused */
    unsigned count = 0, gap = NO_GAP;
    size_t i = 0;
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
        if (i < length && text[i] != ':') { /* it can only be an IPv4 address */
            if (count > IPV6_GROUPS - 2 ||
                !address_read_dotted(text + start, length - start, groups + count))
                return false;
            count += 2;
            break;
        }
        groups[count++] = (uint16_t)value;
        if (i == length)
            break;
        if (++i == length)
            return false;
        if (text[i] == ':') {
            if (gap != NO_GAP)
                return false;
            gap = count;
            i++;
        }
    }
    if (gap == NO_GAP)
        return count == IPV6_GROUPS;
    if (count == IPV6_GROUPS)
        return false; /* "::" is at least one group */
    memmove(groups + gap + IPV6_GROUPS - count, groups + gap, (count - gap) * sizeof *groups);
    memset(groups + gap, 0, (IPV6_GROUPS - count) * sizeof *groups);
    return true;
}

/* The first of the longest runs of two and more zero groups becomes "::". */
size_t url_write_ipv6(uint8_t *to, const uint16_t groups[IPV6_GROUPS]) {
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
            used += address_write_number(to + used, groups[i], 16);
    }
    to[used++] = ']';
    return used;
}
