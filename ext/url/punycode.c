/* The algorithm of RFC 3492, section 6, with its names. The ASCII letters come first. Then each
 * other code point, in ascending order, is the distance to it from the one before, as a number
 * whose digits end themselves. */
#include "url/punycode.h"

#include "url/bytes.h"

enum { PUNYCODE_BASE = 36, PUNYCODE_LEAST = 1, PUNYCODE_BIAS = 72, PUNYCODE_START = 128 };
enum { PUNYCODE_THRESHOLD_MOST = 26, PUNYCODE_SKEW = 38, PUNYCODE_DAMP = 700 };

static uint32_t punycode_adapt(uint32_t delta, uint32_t points, bool first) {
    uint32_t k = 0;
    delta = first ? delta / PUNYCODE_DAMP : delta / 2;
    delta += delta / points;
    for (; delta > ((PUNYCODE_BASE - PUNYCODE_LEAST) * PUNYCODE_THRESHOLD_MOST) / 2;
         k += PUNYCODE_BASE)
        delta /= PUNYCODE_BASE - PUNYCODE_LEAST;
    return k + PUNYCODE_BASE * delta / (delta + PUNYCODE_SKEW);
}

static uint32_t punycode_threshold(uint32_t k, uint32_t bias) {
    return k <= bias                             ? PUNYCODE_LEAST
           : k >= bias + PUNYCODE_THRESHOLD_MOST ? PUNYCODE_THRESHOLD_MOST
                                                 : k - bias;
}

/* No sum overflows: 256 times 0x110000 is below 2^29. */
size_t url_punycode_encode(const uint32_t *points, size_t count, uint8_t *to, size_t most) {
    uint32_t next = PUNYCODE_START, bias = PUNYCODE_BIAS, delta = 0, done = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i] < PUNYCODE_START) {
            if (used == most)
                return 0;
            to[used++] = (uint8_t)points[i];
        }
    const uint32_t basic = (uint32_t)used;
    done = basic;
    if (used > 0) {
        if (used == most)
            return 0;
        to[used++] = '-';
    }
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
            for (uint32_t k = PUNYCODE_BASE;; k += PUNYCODE_BASE) {
                uint32_t threshold = punycode_threshold(k, bias);
                uint32_t digit = left < threshold
                                     ? left
                                     : threshold + (left - threshold) % (PUNYCODE_BASE - threshold);
                if (used == most)
                    return 0;
                to[used++] = (uint8_t)(digit < 26 ? 'a' + digit : '0' + digit - 26);
                if (left < threshold)
                    break;
                left = (left - threshold) / (PUNYCODE_BASE - threshold);
            }
            bias = punycode_adapt(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        next++;
    }
    return used;
}

size_t url_punycode_decode(const uint8_t *text, size_t length, uint32_t points[PUNYCODE_MOST]) {
    uint32_t point = PUNYCODE_START, bias = PUNYCODE_BIAS, place = 0;
    size_t count = 0, i = length;
    while (i > 0 && text[i - 1] != '-')
        i--;
    while (i > 1 && count < i - 1) {
        points[count] = text[count];
        count++;
    }
    i = i > 1 ? i : 0;
    while (i < length) {
        uint64_t sum = place, weight = 1;
        for (uint32_t k = PUNYCODE_BASE;; k += PUNYCODE_BASE) {
            uint32_t threshold = punycode_threshold(k, bias), digit;
            if (i == length || (!url_is_letter(text[i]) && !url_is_digit(text[i])))
                return 0;
            digit = url_is_digit(text[i]) ? text[i] - '0' + 26U : (text[i] | 0x20U) - 'a';
            i++;
            sum += digit * weight;
            if (sum > INT32_MAX)
                return 0;
            if (digit < threshold)
                break;
            /* No overflow: the digit was not zero, so that the sum, below 2^31, is the larger. */
            weight *= PUNYCODE_BASE - threshold;
        }
        uint32_t places = (uint32_t)count + 1;
        bias = punycode_adapt((uint32_t)sum - place, places, place == 0);
        if (sum / places > 0x10ffff - point)
            return 0;
        point += (uint32_t)(sum / places);
        place = (uint32_t)(sum % places);
        memmove(points + place + 1, points + place, (count - place) * sizeof *points);
        points[place++] = point;
        count++;
    }
    return count;
}
