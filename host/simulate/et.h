/*
 * et.h - inside of struct sutra_et.
 */
#ifndef SIMULATE_ET_H
#define SIMULATE_ET_H

#include "simulate/et_read.h"
#include "sutra/simulate.h"

struct sutra_et {
    struct et_file file;
    struct arena info; /* texts of the last sutra_et_info() */
};

#endif
