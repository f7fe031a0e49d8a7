/*
 * keyed.c - sets the hash key of the program's tables to the number in $SUTRA_HASH_KEY.
 *
 * golden_two_keys.sh links it into a second program and compares outputs: no output may depend on the key.
 */
#include <stdlib.h>

#include "columns/hash.h"

__attribute__((constructor)) static void take_key(void) {
    const char *text = getenv("SUTRA_HASH_KEY");
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
    if (number)
        hash_key = (struct hash_key){number * 0x9e3779b97f4a7c15u, number * 0xa0761d6478bd642fu, number};
}
