/*
 * edition.c - the names of editions.
 */
#include "sutra/edition.h"

const char *sutra_hta_edition_name(enum sutra_hta_edition edition) {
    static const char *const names[SUTRA_HTA_N_EDITIONS] = {"0.5", "0.6"};
    return (unsigned)edition < SUTRA_HTA_N_EDITIONS ? names[edition] : "";
}
