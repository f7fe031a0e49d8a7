/*
 * occupancy.c - limits of devices from the trace's text, and the arithmetic.
 */
#include "facts/occupancy.h"

#include <math.h>
#include <string.h>

#include "read/fields.h"

/* Of NVIDIA's GPUs: registers are given out to warps, shared memory to blocks, in multiples of these. */
#define REGISTER_UNIT   256
#define SHARED_UNIT     128
#define SHARED_UNIT_OLD 256
#define SHARED_RESERVED 1024 /* for each block, from compute capability 8.0 on */
#define WARPS_AT_A_TIME 4
#define NVIDIA_WARP     32

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"id", offsetof(struct device_limits, id)},
    {"computeMajor", offsetof(struct device_limits, major)},
    {"computeMinor", offsetof(struct device_limits, minor)},
    {"numSms", offsetof(struct device_limits, n_multiprocessors)},
    {"warpSize", offsetof(struct device_limits, warp_size)},
    {"maxThreadsPerMultiprocessor", offsetof(struct device_limits, threads)},
    {"regsPerMultiprocessor", offsetof(struct device_limits, registers)},
    {"sharedMemPerMultiprocessor", offsetof(struct device_limits, shared_memory)},
};

static void read_limits(const struct document *document, size_t at, struct device_limits *limits) {
    *limits = (struct device_limits){0};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct json_place place = document_member_of(document, at, members[i].name);
        int64_t value;
        if (place.at && field_integer(document->source.bytes + place.at, &value) && value >= 0 && value < INT32_MAX)
            memcpy((char *)limits + members[i].offset, &value, sizeof value);
    }
}

size_t device_limits_read(const struct sutra_device_trace *trace, struct device_limits *limits) {
    const struct document *document = &trace->document;
    const struct document_member *found = document_find(document, "deviceProperties");
    size_t n = 0;
    if (!found || document->source.bytes[found->value] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, found->value);
    for (bool more = walk_array(&walker); more && n < DEVICES_MOST; more = walk_element_end(&walker))
        read_limits(document, walk_value(&walker).at, &limits[n++]);
    return n;
}

/* Blocks that a multiprocessor has places for. */
static double places_for_blocks(const struct device_limits *limits) {
    int64_t version = limits->major * 10 + limits->minor;
    if (version == 75 || version == 86 || version == 87 || limits->major == 3)
        return 16;
    return version == 89 || limits->major == 11 || limits->major == 12 ? 24 : 32;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

/* Blocks of a kernel that a multiprocessor holds at once. */
static double blocks_at_once(const struct device_limits *limits, const struct kernel_shape *shape) {
    double warps = ceil(shape->threads / NVIDIA_WARP);
    double blocks = least(places_for_blocks(limits), floor((double)limits->threads / NVIDIA_WARP / warps));
    if (shape->registers > 0) {
        double of_warp = ceil(shape->registers * NVIDIA_WARP / REGISTER_UNIT) * REGISTER_UNIT;
        double fit = floor((double)limits->registers / of_warp / WARPS_AT_A_TIME) * WARPS_AT_A_TIME;
        blocks = least(blocks, floor(fit / warps));
    }
    double unit = limits->major >= 8 ? SHARED_UNIT : SHARED_UNIT_OLD;
    double shared = shape->shared_memory + (limits->major >= 8 ? SHARED_RESERVED : 0);
    if (shared > 0)
        blocks = least(blocks, floor((double)limits->shared_memory / (ceil(shared / unit) * unit)));
    return blocks;
}

struct kernel_occupancy occupancy_of(const struct device_limits *limits, const struct kernel_shape *shape) {
    struct kernel_occupancy occupancy = {NAN, NAN, NAN};
    bool known = limits->warp_size == NVIDIA_WARP && limits->threads > 0 && limits->registers > 0 &&
                 limits->shared_memory > 0 && limits->n_multiprocessors > 0 && limits->major >= 3;
    if (!known || !(shape->threads > 0) || !(shape->blocks > 0) || isnan(shape->registers) ||
        isnan(shape->shared_memory))
        return occupancy;
    double blocks = blocks_at_once(limits, shape), each = shape->blocks / (double)limits->n_multiprocessors;
    if (!(blocks > 0))
        return occupancy;
    occupancy.limit = blocks * shape->threads / (double)limits->threads;
    occupancy.occupied = least(blocks, each) * shape->threads / (double)limits->threads;
    occupancy.waves = each / blocks;
    return occupancy;
}
