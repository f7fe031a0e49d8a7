/*
 * hta_version.c - names of HTA versions.
 */
#include "sutra/hta_version.h"

const char *sutra_hta_version_name(enum sutra_hta_version hta_version) {
    static const char *const names[SUTRA_HTA_N_VERSIONS] = {"0.5", "0.6"};
    return (unsigned)hta_version < SUTRA_HTA_N_VERSIONS ? names[hta_version] : "";
}
