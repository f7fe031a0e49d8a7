/*
 * kernel_names.c - the collective that a kernel's name says: in lower case without - and _ it contains one of a list.
 */
#include "simulate/kernel_names.h"

/* The name without - and _, in lower case, cut off at the end of `flat`. */
static struct et_text flatten(struct et_text name, char *flat, size_t size) {
    size_t n = 0;
    for (uint32_t i = 0; i < name.length && n < size; i++) {
        char c = name.bytes[i];
        if (c != '-' && c != '_')
            flat[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    return (struct et_text){flat, (uint32_t)n};
}

int kernel_collective(struct et_text name, bool all) {
    static const struct {
        const char *part;
        enum et_collective type;
        bool known; /* to chakra_converter */
    } collectives[] = {
        {"allreduce", ET_ALL_REDUCE, true},
        {"alltoall", ET_ALL_TO_ALL, true},
        {"allgather", ET_ALL_GATHER, true},
        {"reducescatter", ET_REDUCE_SCATTER, true},
        {"broadcast", ET_BROADCAST, true},
        {"ncclkernelreduce", ET_REDUCE, false},
        {"nccldevkernelreduce", ET_REDUCE, false},
        {"gather", ET_GATHER, false},
        {"scatter", ET_SCATTER, false},
    };
    char room[1024];
    struct et_text flat = flatten(name, room, sizeof room);
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if ((all || collectives[i].known) && kernel_name_has(flat, collectives[i].part))
            return (int)collectives[i].type;
    return kernel_is_send_receive(name) ? ET_ALL_TO_ALL : -1;
}
