/* Makes the key of an entry, once list_narrow has found it. */
#ifndef BLOOM_LIST_ENTRY_H
#define BLOOM_LIST_ENTRY_H

#include "list/list.h"

/* Reads an entry and returns its form, or why it is not an entry after all. */
enum list_form list_read(struct bloom_list *list, struct list_span span, enum list_form form);

/* Returns the form of an entry whose key is known, because some rules are for one page only, and
 * some names are those of the machine itself. */
enum list_form list_settle(const struct bloom_list *list, enum list_form form);

#endif
