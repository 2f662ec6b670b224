/* A name is read code point by code point. Each is mapped and decomposed, and put into the label so
 * that its marks are in canonical order. At a dot the label is composed (NFC), checked, and written
 * in Punycode if it is not ASCII.
 *
 * Sources: Unicode Technical Standard #46, "Unicode IDNA Compatibility Processing", with
 * CheckHyphens, UseSTD3ASCIIRules, Transitional_Processing, VerifyDnsLength and
 * IgnoreInvalidPunycode false, CheckBidi and CheckJoiners true, as the URL Standard has it; Unicode
 * Standard Annex #15 (NFC) and section 3.12 (Hangul); RFC 5893 (bidirectional text); RFC 5892,
 * appendix A (joiners).
 */
#include "url/idna.h"

#include "url/bytes.h"
#include "url/idna_tables.h"
#include "url/punycode.h"

/* Parts of a class of IDNA_CLASSES. The numbers are those of idna_tables.py. */
enum { IDNA_DISALLOWED, IDNA_IGNORED, IDNA_IS_MAPPED, IDNA_VALID };
enum { BIDI_LEFT, BIDI_RIGHT, BIDI_ARABIC_NUMBER, BIDI_NUMBER, BIDI_MARK, BIDI_NEUTRAL };
enum { JOINS_LEFT = 1, JOINS_RIGHT = 2, TRANSPARENT = 4 };

enum { IDNA_VIRAMA = 9, ZERO_WIDTH_NON_JOINER = 0x200c, ZERO_WIDTH_JOINER = 0x200d };

/* A label has at most four times as many code points before it is composed, because no valid code
 * point decomposes into more than four. */
enum { IDNA_POINTS = 4 * IDNA_ESCAPED_MOST };

enum { IDNA_POINT_BITS = 21 };

/* The state of a name while it is read. */
struct idna_name {
    uint8_t *to;
    size_t used;
    size_t most;        /* bytes of the name */
    bool bidirectional; /* some label has text from right to left */
    bool against_bidi;  /* some label could not stand in a bidirectional name */
    size_t count;       /* code points of the label that is being read */
    /* While decomposed, they have the combining class in the bits from 21 on, and are in canonical
     * order. */
    uint32_t points[IDNA_POINTS];
    uint32_t classes[IDNA_ESCAPED_MOST]; /* of the composed label, when it is checked */
};

static unsigned idna_status(uint32_t class) {
    return class & 3;
}

static unsigned idna_combining(uint32_t class) {
    return class >> 2 & 0xff;
}

static unsigned idna_bidi(uint32_t class) {
    return class >> 10 & 7;
}

static unsigned idna_joining(uint32_t class) {
    return class >> 13 & 7;
}

static bool idna_is_mark(uint32_t class) {
    return (class >> 16) != 0;
}

/* Returns the last entry that is not above a point, of a table whose upper bits ascend from 0. */
static size_t idna_search(const uint32_t *table, size_t count, uint32_t point) {
    size_t low = 0;
    for (size_t rest = count; rest > 1;) {
        size_t half = rest / 2;
        low += table[low + half] >> 7 <= point ? half : 0;
        rest -= half;
    }
    return low;
}

static uint32_t idna_class(uint32_t point) {
    size_t range = idna_search(IDNA_RANGES, sizeof IDNA_RANGES / sizeof *IDNA_RANGES, point);
    return IDNA_CLASSES[IDNA_RANGES[range] & 127];
}

/* --- NFC --- */

enum { HANGUL = 0xac00, HANGUL_L = 0x1100, HANGUL_V = 0x1161, HANGUL_T = 0x11a7 };
enum { HANGUL_LS = 19, HANGUL_VS = 21, HANGUL_TS = 28 };
enum { HANGUL_COUNT = HANGUL_LS * HANGUL_VS * HANGUL_TS };

/* The code points of a pair that a table has modulo 2^16: in plane 1 a second one below U+1000 is
 * in plane 0. */
static uint32_t idna_plane_of_second(uint32_t plane, uint32_t second) {
    return second < 0x1000 ? second : plane | second;
}

/* What composes to a point; false when nothing does. */
static bool idna_decompose(uint32_t point, uint32_t parts[2]) {
    const uint32_t plane = point & 0x10000;
    size_t low = plane != 0 ? IDNA_PAIRS_LOW : 0, high = plane != 0 ? IDNA_PAIRS : IDNA_PAIRS_LOW;
    if (point - HANGUL < HANGUL_COUNT) {
        uint32_t index = point - HANGUL, last = index % HANGUL_TS;
        parts[0] = last != 0 ? point - last : HANGUL_L + index / (HANGUL_VS * HANGUL_TS);
        parts[1] = last != 0 ? HANGUL_T + last : HANGUL_V + index / HANGUL_TS % HANGUL_VS;
        return true;
    }
    if (point > 0x1ffff)
        return false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const uint16_t *pair = IDNA_COMPOSED[IDNA_DECOMPOSED[middle]];
        if (pair[2] == (point & 0xffff)) {
            parts[0] = plane | pair[0];
            parts[1] = idna_plane_of_second(plane, pair[1]);
            return true;
        }
        if (pair[2] < (point & 0xffff))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Returns what a pair composes to, or 0. */
static uint32_t idna_compose(uint32_t first, uint32_t second) {
    const uint32_t plane = first & 0x10000;
    size_t low = plane != 0 ? IDNA_PAIRS_LOW : 0, high = plane != 0 ? IDNA_PAIRS : IDNA_PAIRS_LOW;
    if (first - HANGUL_L < HANGUL_LS && second - HANGUL_V < HANGUL_VS)
        return HANGUL + ((first - HANGUL_L) * HANGUL_VS + second - HANGUL_V) * HANGUL_TS;
    if (first - HANGUL < HANGUL_COUNT && (first - HANGUL) % HANGUL_TS == 0 &&
        second - HANGUL_T - 1 < HANGUL_TS - 1)
        return first + second - HANGUL_T;
    if (first > 0x1ffff || second > 0x1ffff)
        return 0;
    const uint32_t wanted = (first & 0xffff) << 16 | (second & 0xffff);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const uint16_t *pair = IDNA_COMPOSED[middle];
        uint32_t found = (uint32_t)pair[0] << 16 | pair[1];
        if (found == wanted)
            return idna_plane_of_second(plane, pair[1]) == second ? plane | pair[2] : 0;
        if (found < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Appends what a point decomposes to, with marks in the order of their classes. Returns false if
 * the label is too long. */
static bool idna_append(struct idna_name *name, uint32_t point) {
    uint32_t parts[2];
    if (point >= 0xc0 && idna_decompose(point, parts))
        return idna_append(name, parts[0]) && idna_append(name, parts[1]);
    if (name->count == 4 * name->most)
        return false;
    uint32_t combining = point < 0x300 ? 0 : idna_combining(idna_class(point));
    size_t at = name->count++;
    for (; combining > 0 && at > 0 && name->points[at - 1] >> IDNA_POINT_BITS > combining; at--)
        name->points[at] = name->points[at - 1];
    name->points[at] = point | combining << IDNA_POINT_BITS;
    return true;
}

/* Composes the label. */
static void idna_compose_all(struct idna_name *name) {
    uint32_t *points = name->points;
    uint32_t before = 0; /* the class of the last that was kept */
    size_t used = 0, starter = 0;
    bool has_starter = false;
    for (size_t i = 0; i < name->count; i++) {
        uint32_t combining = points[i] >> IDNA_POINT_BITS;
        uint32_t point = points[i] & ((1U << IDNA_POINT_BITS) - 1);
        if (has_starter && (used == starter + 1 || before < combining)) {
            uint32_t composed = idna_compose(points[starter], point);
            if (composed != 0) {
                points[starter] = composed;
                continue;
            }
        }
        if (combining == 0) {
            starter = used;
            has_starter = true;
        }
        before = combining;
        points[used++] = point;
    }
    name->count = used;
}

/* --- Checks of a label --- */

/* RFC 5893, section 2: notes whether the label is not allowed in a bidirectional name. */
static void idna_check_bidi(struct idna_name *name) {
    bool allowed = true, left = false;
    unsigned seen = 0, last = BIDI_NEUTRAL;
    for (size_t i = 0; i < name->count; i++) {
        unsigned bidi = idna_bidi(name->classes[i]);
        if (i == 0)
            left = bidi == BIDI_LEFT;
        allowed = allowed && (i > 0 || left || bidi == BIDI_RIGHT) && bidi <= BIDI_NEUTRAL;
        seen |= 1U << bidi;
        last = bidi == BIDI_MARK ? last : bidi;
    }
    const unsigned right = 1U << BIDI_RIGHT | 1U << BIDI_ARABIC_NUMBER;
    name->bidirectional |= (seen & right) != 0;
    if (left)
        allowed = allowed && (seen & right) == 0 && (last == BIDI_LEFT || last == BIDI_NUMBER);
    else
        allowed = allowed && (seen & 1U << BIDI_LEFT) == 0 && last != BIDI_NEUTRAL &&
                  ((seen >> BIDI_NUMBER & 1) == 0 || (seen >> BIDI_ARABIC_NUMBER & 1) == 0);
    name->against_bidi |= !allowed;
}

/* RFC 5892, appendix A: a joiner or non-joiner must follow a virama. A non-joiner may also be
 * between letters that would be joined, apart from transparent ones. */
static bool idna_joiners_allowed(const struct idna_name *name) {
    bool joins = false; /* the last that is not transparent joins what follows it */
    unsigned before = 0;
    for (size_t i = 0; i < name->count; i++) {
        uint32_t point = name->points[i], class = name->classes[i];
        if (point == ZERO_WIDTH_NON_JOINER || point == ZERO_WIDTH_JOINER) {
            size_t next = i + 1;
            if (i == 0)
                return false;
            if (before != IDNA_VIRAMA) {
                if (point == ZERO_WIDTH_JOINER || !joins)
                    return false;
                while (next < name->count && (idna_joining(name->classes[next]) & TRANSPARENT) != 0)
                    next++;
                if (next == name->count || (idna_joining(name->classes[next]) & JOINS_RIGHT) == 0)
                    return false;
            }
        }
        if ((idna_joining(class) & TRANSPARENT) == 0)
            joins = (idna_joining(class) & JOINS_LEFT) != 0;
        before = idna_combining(class);
    }
    return true;
}

/* Section 4.1: the validity criteria, except for NFC, in which the label is. It has no more points
 * than the name may have bytes. */
static bool idna_label_is_valid(struct idna_name *name) {
    const uint32_t *points = name->points;
    bool joiners = false;
    for (size_t i = 0; i < name->count; i++) {
        name->classes[i] = idna_class(points[i]);
        if (idna_status(name->classes[i]) != IDNA_VALID)
            return false;
        joiners |= points[i] == ZERO_WIDTH_NON_JOINER || points[i] == ZERO_WIDTH_JOINER;
    }
    if (idna_is_mark(name->classes[0]))
        return false;
    if (name->count >= 4 && points[0] == 'x' && points[1] == 'n' && points[2] == '-' &&
        points[3] == '-')
        return false;
    if (joiners && !idna_joiners_allowed(name))
        return false;
    idna_check_bidi(name);
    return true;
}

/* Checks a label that was written in Punycode. It must be what encoding a name outside ASCII would
 * produce. text is what follows xn--. */
static bool idna_punycode_is_valid(struct idna_name *name, const uint8_t *text, size_t length) {
    uint32_t decoded[PUNYCODE_MOST];
    size_t count = length <= PUNYCODE_MOST ? url_punycode_decode(text, length, decoded) : 0;
    uint32_t highest = 0;
    name->count = 0;
    for (size_t i = 0; i < count; i++) {
        highest |= decoded[i];
        if (!idna_append(name, decoded[i]))
            return false;
    }
    if (highest < 0x80)
        return false;
    idna_compose_all(name);
    return name->count == count && memcmp(decoded, name->points, count * sizeof *decoded) == 0 &&
           idna_label_is_valid(name);
}

/* Ends a label: writes it after the name, in ASCII. Returns false if it is not valid. */
static bool idna_end_label(struct idna_name *name) {
    static const char PREFIX[] = "xn--";
    enum { PREFIX_BYTES = sizeof PREFIX - 1 };
    uint8_t *to = name->to + name->used;
    size_t room = name->most - name->used, length;
    uint32_t highest = 0;
    idna_compose_all(name);
    if (name->count == 0)
        return true;
    if (name->count > room)
        return false;
    for (size_t i = 0; i < name->count; i++)
        highest |= name->points[i];
    length = name->count;
    if (highest < 0x80)
        for (size_t i = 0; i < length; i++)
            to[i] = (uint8_t)name->points[i];
    if (highest < 0x80 && length >= PREFIX_BYTES && memcmp(to, PREFIX, PREFIX_BYTES) == 0) {
        if (!idna_punycode_is_valid(name, to + PREFIX_BYTES, length - PREFIX_BYTES))
            return false;
    } else if (!idna_label_is_valid(name)) {
        return false;
    }
    if (highest >= 0x80) {
        if (room <= PREFIX_BYTES)
            return false;
        memcpy(to, PREFIX, PREFIX_BYTES);
        length =
            url_punycode_encode(name->points, name->count, to + PREFIX_BYTES, room - PREFIX_BYTES);
        if (length == 0)
            return false;
        length += PREFIX_BYTES;
    }
    name->used += length;
    name->count = 0;
    return true;
}

/* --- The name --- */

static bool idna_take(struct idna_name *name, uint32_t point) {
    if (point != '.')
        return idna_append(name, point);
    if (!idna_end_label(name) || name->used == name->most)
        return false;
    name->to[name->used++] = '.';
    return true;
}

static bool idna_take_mapped(struct idna_name *name, uint32_t point) {
    size_t run = idna_search(IDNA_MAPPED, sizeof IDNA_MAPPED / sizeof *IDNA_MAPPED, point);
    unsigned value = IDNA_MAPPED_TO[run], bits = IDNA_MAPPED[run] & 63;
    if ((IDNA_MAPPED[run] & 64) == 0)
        return idna_take(name, bits << 16 | ((point + value) & 0xffff));
    for (size_t i = 0; i < bits;)
        if (!idna_take(name, url_code_point(IDNA_TEXTS + value, bits, &i)))
            return false;
    return true;
}

bool url_idna(const uint8_t *bytes, size_t length, bool escape, uint8_t *to, size_t most,
              size_t *used) {
    struct idna_name name;
    name.to = to;
    name.most = most;
    name.used = name.count = 0;
    name.bidirectional = name.against_bidi = false;
    for (size_t i = 0; i < length;) {
        uint32_t point = url_code_point(bytes, length, &i);
        bool taken = true;
        if (point == BLOOM_NOT_UTF8)
            return false;
        if (escape && (point == ' ' || point == '*')) {
            taken = idna_take(&name, '%') && idna_take(&name, '2') &&
                    idna_take(&name, point == ' ' ? '0' : 'a');
        } else if (point < 0x80) {
            taken = idna_take(&name, url_lower((uint8_t)point));
        } else {
            switch (idna_status(idna_class(point))) {
            case IDNA_DISALLOWED:
                return false;
            case IDNA_IS_MAPPED:
                taken = idna_take_mapped(&name, point);
                break;
            case IDNA_VALID:
                taken = idna_take(&name, point);
                break;
            }
        }
        if (!taken)
            return false;
    }
    *used = 0;
    if (!idna_end_label(&name) || (name.bidirectional && name.against_bidi))
        return false;
    *used = name.used;
    return true;
}
