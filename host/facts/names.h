/*
 * names.h - the meaning of names and categories in a device trace, for each reader of traces.
 *
 *     interned strings --one pass--> roles of each, as a name and as a category --> of an event: two look-ups by number
 *
 * Each reproduced tool has lists of its own of launches, blocking calls, steps and so on. One table (names.c) contains
 * them all; a column of it lists the readers that know the line.
 *
 * Cost: O(bytes of the distinct strings), and a look-up for each line of the table.
 */
#ifndef FACTS_NAMES_H
#define FACTS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/strings.h"
#include "columns/traces.h"

/* Classes of GPU activity in a timeline: computation, communication or copy. In contrast to HTA's types of kernels
 * below, categories count, memsets are computation, and AMD's names are known. */
enum device_class {
    DEVICE_COMPUTE,
    DEVICE_COMMUNICATION,
    DEVICE_COPY,
    DEVICE_N_CLASSES,
    DEVICE_NO_WORK = DEVICE_N_CLASSES, /* such as synchronization */
};

/* The class by TraceLens' rules of an event whose category has these roles; sutra's own rules are in
 * facts/kernel_class.h. O(length). */
enum device_class device_class_of(uint32_t category, const char *text, size_t length);

enum kernel_type { KERNEL_COMPUTATION, KERNEL_COMMUNICATION, KERNEL_MEMORY, KERNEL_OTHER, KERNEL_N_TYPES };

/* "COMPUTATION" and so on. */
extern const char *const kernel_type_names[KERNEL_N_TYPES];

/* The type of a kernel of this name, by the expressions of HTA 0.5. O(length). */
enum kernel_type kernel_type_of(const char *name, size_t length);

/* The same by the expressions of HTA 0.6. They classify names that begin with hip as communication, which is reproduced
 * only with `hip_communicates`; otherwise HIP's memcpy and memset are memory, and other HIP names compute. */
enum kernel_type kernel_type_of_0_6(const char *name, size_t length, bool hip_communicates);

/* Readers of traces. */
enum reader {
    READER_LINKER = 1 << 0,         /* links current traces */
    READER_OLDER_LINKER = 1 << 1,   /* link-legacy, which counts few calls as launches */
    READER_PATH = 1 << 2,           /* HTA's critical path */
    READER_PATH_EXTENDED = 1 << 3,  /* the same with our extended rules */
    READER_HTA = 1 << 4,            /* HTA's tables and statistics of launches */
    READER_HTA_QUEUE = 1 << 5,      /* HTA's lengths of queues */
    READER_DLRM = 1 << 6,           /* the notebook that analyze dlrm reproduces */
    READER_TREE = 1 << 7,           /* the profiler's call tree */
    READER_SIMULATE = 1 << 8,       /* the measured timeline, for simulators */
    READER_DLRM_EXTENDED = 1 << 9,  /* the notebook with our default rules */
    READER_HTA_QUEUE_0_6 = 1 << 13, /* HTA 0.6, in addition to READER_HTA_QUEUE */
    READER_PATH_0_6 = 1 << 12,      /* critical path of HTA 0.6, in addition to READER_PATH */
    READER_OPERATORS = 1 << 11,     /* TraceLens' tables of operators */
    READER_OVERVIEW = 1 << 14,      /* the overview and its findings */
    READER_SUMMARY = 1 << 10,       /* trace summary, in addition to READER_LINKER */
};

/* Names of profiler steps contain it. */
#define STEP_NAME "ProfilerStep"

/* The operator that records the parameters of a communication. */
#define COMMS_NAME "record_param_comms"

/* Roles of a string as a name. */
enum name_role {
    NAME_LAUNCH_KERNEL = 1 << 0, /* calls that start something on the GPU */
    NAME_LAUNCH_COPY = 1 << 1,
    NAME_LAUNCH_SET = 1 << 2,
    NAME_LAUNCH_GRAPH = 1 << 3,
    NAME_BLOCKING = 1 << 4,    /* synchronizing calls: their time is not CPU work */
    NAME_RECORD_CALL = 1 << 5, /* calls that record an event, and that make a stream wait for one */
    NAME_WAIT_CALL = 1 << 6,
    NAME_EVENT_SYNC = 1 << 7, /* synchronization events; for READER_SIMULATE the calls */
    NAME_CONTEXT_SYNC = 1 << 8,
    NAME_STREAM_SYNC = 1 << 9,
    NAME_STREAM_WAIT = 1 << 10,
    NAME_STEP = 1 << 11,          /* contains STEP_NAME */
    NAME_NCCL = 1 << 12,          /* contains nccl in any case */
    NAME_NCCL_KERNEL = 1 << 13,   /* contains ncclDevKernel */
    NAME_COALESCED = 1 << 14,     /* is nccl:coalesced */
    NAME_HIP = 1 << 15,           /* of HIP, for all readers */
    NAME_COPY = 1 << 16,          /* contains emcpy: copies on the GPU */
    NAME_PAGEABLE = 1 << 17,      /* contains ageable: such copies from or to memory that is not pinned */
    NAME_USED = 1 << 18,          /* an event that counts has it; set by the pass over the events */
    NAME_LOCKS_RUNTIME = 1 << 19, /* calls that take the lock of CUDA's runtime */
    NAME_LOADS_BATCH = 1 << 20,   /* ranges in which a batch of data is fetched */
    NAME_SETS_UP = 1 << 21,       /* calls that allocate or free memory, load code or create streams */
    NAME_OWN = 1 << 22,           /* this and higher bits: a reader's own roles, by names_mark() */
};

#define NAME_LAUNCH (NAME_LAUNCH_KERNEL | NAME_LAUNCH_COPY | NAME_LAUNCH_SET | NAME_LAUNCH_GRAPH)

/* Roles of a string as a category. */
enum category_role {
    CATEGORY_CPU_OP = 1 << 0,
    CATEGORY_ANNOTATION = 1 << 1, /* the user's */
    CATEGORY_RUNTIME = 1 << 2,    /* calls */
    CATEGORY_DRIVER = 1 << 3,
    CATEGORY_KERNEL = 1 << 4,
    CATEGORY_COPY = 1 << 5,
    CATEGORY_SET = 1 << 6,
    CATEGORY_SYNC = 1 << 7,
    CATEGORY_GPU_ANNOTATION = 1 << 8, /* the user's, on streams */
    CATEGORY_OVERHEAD = 1 << 9,       /* of the profiler */
    CATEGORY_LAUNCH_FLOW = 1 << 10,   /* from a launch to its GPU activity */
    CATEGORY_AUTOGRAD_FLOW = 1 << 11,
    CATEGORY_PYTHON = 1 << 12,
    CATEGORY_INSTANT = 1 << 13,
    CATEGORY_TRACE = 1 << 14, /* of the trace itself */
    CATEGORY_EMPTY = 1 << 15, /* "", also if it is missing */
    CATEGORY_HIP = 1 << 16,   /* of HIP, for all readers */
    CATEGORY_USED = 1 << 17,  /* as NAME_USED */
    /* Kinds of CATEGORY_KERNEL, whose names facts/kernel_class.h classifies by other rules. */
    CATEGORY_COMMUNICATION = 1 << 18, /* of collectives (XPU) */
    CATEGORY_MTIA = 1 << 19,
    CATEGORY_NPU = 1 << 20, /* of Ascend, set by the reader */
};

#define CATEGORY_CALL (CATEGORY_RUNTIME | CATEGORY_DRIVER)
#define CATEGORY_WORK (CATEGORY_KERNEL | CATEGORY_COPY | CATEGORY_SET)

/* GPU activity that the linkers link: without memset. */
#define CATEGORY_LINKED_WORK (CATEGORY_KERNEL | CATEGORY_COPY)

struct string_roles {
    uint32_t name, category;
};

/* The roles of every string of a table for one or several readers, in the arena; NULL: out of memory. */
struct string_roles *names_find(const struct strings *strings, enum reader reader, struct arena *arena);

/* How a string is compared with a text. */
enum comparison { TEXT_IS, TEXT_BEGINS, TEXT_HAS, TEXT_HAS_IN_ANY_CASE };

bool text_compare(const struct strings *strings, uint32_t string, enum comparison comparison, const char *text);

/* Adds a name's role to all strings for which the comparison holds, such as for a text of the user. */
void names_mark(const struct strings *strings, struct string_roles *roles, enum comparison comparison, const char *text,
                uint32_t role);

/* Removes the role of a step from names other than STEP_NAME, "#" and a number, as HTA 0.6 does. */
void names_keep_numbered_steps(const struct strings *strings, struct string_roles *roles);

/* Whether an event that counts has the string, as a name or as a category. */
static inline bool string_is_used(struct string_roles roles) {
    return roles.name & NAME_USED || roles.category & CATEGORY_USED;
}

/* The number of used strings that are names of steps. */
uint32_t names_count_steps(const struct strings *strings, const struct string_roles *roles);

/* The roles of an event's name, and of its category: none if it is not a string. */
static inline uint32_t name_roles(const struct device_events *events, const struct string_roles *roles, row_t event) {
    return roles[events->name[event]].name;
}

static inline uint32_t category_roles(const struct device_events *events, const struct string_roles *roles,
                                      row_t event) {
    uint32_t category = events->category[event];
    return category == STRING_NONE ? 0 : roles[category].category;
}

#endif
