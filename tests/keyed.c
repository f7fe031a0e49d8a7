/*
 * keyed.c - the program's tables with the key that $SUTRA_HASH_KEY tells, a number: it is linked into a program of its
 * own, with which golden_two_keys.sh shows that no output depends on the key.
 */
#include <stdlib.h>

#include "columns/hash_tables.h"

__attribute__((constructor)) static void take_key(void) {
    const char *text = getenv("SUTRA_HASH_KEY");
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
    if (number)
        hash_key = (struct hash_key){number * 0x9e3779b97f4a7c15u, number * 0xa0761d6478bd642fu, number};
}
