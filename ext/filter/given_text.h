/* Tells what was given instead of the text of a list, or of lines. */
#ifndef BLOOM_FILTER_GIVEN_TEXT_H
#define BLOOM_FILTER_GIVEN_TEXT_H

#include "base/text.h"

#include <stdint.h>

/* Returns true if what was given may be the text itself. Otherwise the problem is a sentence about
 * what it is: the name of a file, an address unless it may be one, or bytes that are not UTF-8. If
 * it is to be a list, JSON, HTML, another binary file and lists of some programs are refused,
 * too. */
bool bloom_given_text(const uint8_t *text, size_t length, bool is_list, bool may_be_address,
                      bloom_problem problem);

#endif
