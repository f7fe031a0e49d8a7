/*
 * colours.c - assigns colors to meanings and to names.
 */
#include "report/colours.h"

#include <string.h>

#include "facts/device_class.h"
#include "facts/kernel_type.h"
#include "facts/names.h"

const char *colour_meaning(enum colour colour) {
    static const char *const meanings[N_COLOURS] = {[COLOUR_COMPUTE] = "compute",
                                                    [COLOUR_COMMUNICATION] = "communication",
                                                    [COLOUR_COPIES] = "memcpy and memset",
                                                    [COLOUR_OTHER_WORK] = "other activity",
                                                    [COLOUR_WAIT_HOST] = "idle: host",
                                                    [COLOUR_WAIT_DATA] = "idle: data loading",
                                                    [COLOUR_WAIT_DEVICE] = "idle: launched before",
                                                    [COLOUR_WAIT_SYNC] = "idle: synchronizing",
                                                    [COLOUR_IDLE] = "idle",
                                                    [COLOUR_HIDDEN] = "communication overlapping with compute",
                                                    [COLOUR_COUNT] = "counts and mixed kinds"};
    return meanings[colour];
}

enum colour colour_of_work(const char *name, size_t length) {
    if (device_class_of(CATEGORY_KERNEL, name, length) == DEVICE_COMMUNICATION || device_is_collective(name, length))
        return COLOUR_COMMUNICATION;
    return kernel_type_of(name, length) == KERNEL_MEMORY ? COLOUR_COPIES : COLOUR_COMPUTE;
}

enum colour colour_of_operator(const char *name, size_t length) {
    static const char *const begins[] = {"c10d::", "record_param_comms", "CustomCollective", "MoE_comm"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t n = strlen(begins[i]);
        if (length >= n && memcmp(name, begins[i], n) == 0)
            return COLOUR_COMMUNICATION;
    }
    return colour_of_work(name, length);
}
