/*
 * names.c - the table of names and categories, and the pass that finds them among the strings of a trace.
 *
 * A line is a text, how it is compared, what it means, and who knows it, a letter for each:
 *
 *     L  the linker                      O  the older linker
 *     P  HTA's critical path             E  its extended rules, which know all that P knows
 *     H  HTA's tables                    Q  HTA's queues
 *     D  the notebook of analyze dlrm    X  our default rules for it, which know all that D knows
 *     T  the call tree                   S  the timeline for simulators
 *     I  what `sutra info` counts beside what L knows
 *     C  TraceLens' tables of operators  V  the overview and its findings
 *     Q6 what HTA 0.6 knows beside Q, and P6 that of the critical path beside P
 *
 * A name may have several lines: cudaMemcpy launches a copy to the linker, and blocks to the critical path.
 */
#include "facts/names.h"

#include <string.h>

#include "text/any_case.h"

enum {
    L = READER_LINKER,
    O = READER_OLDER_LINKER,
    E = READER_PATH_EXTENDED,
    P = READER_PATH | E,
    H = READER_HTA,
    Q = READER_HTA_QUEUE,
    X = READER_DLRM_EXTENDED,
    D = READER_DLRM | X,
    T = READER_TREE,
    S = READER_SIMULATE,
    I = READER_SUMMARY,
    C = READER_OPERATORS,
    V = READER_OVERVIEW,
    Q6 = READER_HTA_QUEUE_0_6,
    P6 = READER_PATH_0_6,
};

struct name_line {
    const char *text;
    enum comparison comparison;
    uint32_t role;
    uint32_t readers;
};

static const struct name_line names[] = {
    {"cudaLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL, L | O | P | H | Q | D},
    {"cudaLaunchKernelExC", TEXT_IS, NAME_LAUNCH_KERNEL, L | P | H | Q | X},
    {"cuLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL, L | P | Q | X},
    {"cuLaunchKernelEx", TEXT_IS, NAME_LAUNCH_KERNEL, L | E | X | Q6 | P6},
    {"cudaLaunchCooperativeKernel", TEXT_IS, NAME_LAUNCH_KERNEL, L | E | X},
    {"hipLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL | NAME_HIP, L | E | Q | X},
    {"hipExtLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL | NAME_HIP, L | E | X},
    {"hipExtModuleLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL | NAME_HIP, L | E | Q | X},
    {"hipModuleLaunchKernel", TEXT_IS, NAME_LAUNCH_KERNEL | NAME_HIP, L | E | X},
    {"runFunction - job_prep_and_submit_for_execution", TEXT_IS, NAME_LAUNCH_KERNEL, H | Q},
    {"cudaMemcpy", TEXT_IS, NAME_LAUNCH_COPY, L},
    {"cudaMemcpyAsync", TEXT_IS, NAME_LAUNCH_COPY, L | O | P | H | Q | D},
    {"cudaMemcpyFromSymbol", TEXT_IS, NAME_LAUNCH_COPY, L | E | X},
    {"cudaMemcpyToSymbol", TEXT_IS, NAME_LAUNCH_COPY, L | E | X},
    {"hipMemcpyAsync", TEXT_IS, NAME_LAUNCH_COPY | NAME_HIP, L | E | Q | X},
    {"hipMemcpyWithStream", TEXT_IS, NAME_LAUNCH_COPY | NAME_HIP, L | E | Q | X},
    {"cudaMemsetAsync", TEXT_IS, NAME_LAUNCH_SET, P | H | Q},
    {"hipMemsetAsync", TEXT_IS, NAME_LAUNCH_SET | NAME_HIP, E | Q},
    {"cudaGraphLaunch", TEXT_IS, NAME_LAUNCH_GRAPH, E},
    {"hipGraphLaunch", TEXT_IS, NAME_LAUNCH_GRAPH | NAME_HIP, E},

    {"cudaMemcpy", TEXT_IS, NAME_BLOCKING, P},
    {"cudaMemcpyAsync", TEXT_IS, NAME_BLOCKING, P},
    {"cudaDeviceSynchronize", TEXT_IS, NAME_BLOCKING, P},
    {"cudaStreamSynchronize", TEXT_IS, NAME_BLOCKING, P | D},
    {"cudaEventSynchronize", TEXT_IS, NAME_BLOCKING, P},
    {"cudaEventQuery", TEXT_IS, NAME_BLOCKING, P},
    {"cudaMemcpyFromSymbol", TEXT_IS, NAME_BLOCKING, E},
    {"cudaMemcpyToSymbol", TEXT_IS, NAME_BLOCKING, E},
    {"hipStreamSynchronize", TEXT_IS, NAME_BLOCKING | NAME_HIP, X},

    {"cudaHostAlloc", TEXT_IS, NAME_TAKES_LOCK, P6},
    {"cudaLaunchKernel", TEXT_IS, NAME_TAKES_LOCK, P6},
    {"cudaMemcpyAsync", TEXT_IS, NAME_TAKES_LOCK, P6},

    {"cudaEventRecord", TEXT_IS, NAME_RECORD_CALL, P},
    {"cudaStreamWaitEvent", TEXT_IS, NAME_WAIT_CALL, P | S},
    {"hipEventRecord", TEXT_IS, NAME_RECORD_CALL | NAME_HIP, E},
    {"hipStreamWaitEvent", TEXT_IS, NAME_WAIT_CALL | NAME_HIP, E | S},
    {"cuStreamWaitEvent", TEXT_IS, NAME_WAIT_CALL, S},
    {"Event Sync", TEXT_IS, NAME_EVENT_SYNC, P | H},
    {"Context Sync", TEXT_IS, NAME_CONTEXT_SYNC, P | H},
    {"Stream Sync", TEXT_IS, NAME_STREAM_SYNC, P},
    {"Stream Wait Event", TEXT_IS, NAME_STREAM_WAIT, P | S},
    {"cudaStreamSynchronize", TEXT_IS, NAME_STREAM_SYNC, S},
    {"cudaDeviceSynchronize", TEXT_IS, NAME_CONTEXT_SYNC, S},
    {"cudaEventSynchronize", TEXT_IS, NAME_EVENT_SYNC, S},
    {"hipStreamSynchronize", TEXT_IS, NAME_STREAM_SYNC | NAME_HIP, S},
    {"hipDeviceSynchronize", TEXT_IS, NAME_CONTEXT_SYNC | NAME_HIP, S},
    {"hipEventSynchronize", TEXT_IS, NAME_EVENT_SYNC | NAME_HIP, S},
    {"cuStreamSynchronize", TEXT_IS, NAME_STREAM_SYNC, S},
    {"cuCtxSynchronize", TEXT_IS, NAME_CONTEXT_SYNC, S},
    {"cuEventSynchronize", TEXT_IS, NAME_EVENT_SYNC, S},
    {"emcpy", TEXT_HAS, NAME_COPY, S},
    {"ageable", TEXT_HAS, NAME_PAGEABLE, S},

    {STEP_NAME, TEXT_HAS, NAME_STEP, L | O | P | H | D | S | V},
    {"nccl", TEXT_HAS_IN_ANY_CASE, NAME_NCCL, L | S},
    {"ncclDevKernel", TEXT_HAS, NAME_NCCL_KERNEL, L},
    {"nccl:coalesced", TEXT_IS, NAME_COALESCED, L},

    {"Launch", TEXT_HAS, NAME_LAUNCH_KERNEL, V},
    {"GraphLaunch", TEXT_HAS, NAME_LAUNCH_GRAPH, V},
    {"Memcpy", TEXT_HAS, NAME_LAUNCH_COPY, V},
    {"Memset", TEXT_HAS, NAME_LAUNCH_SET, V},
    {"Synchronize", TEXT_HAS, NAME_BLOCKING, V},
    {"hipMemcpyWithStream", TEXT_IS, NAME_BLOCKING | NAME_HIP, V},
    {"cudaMemcpy", TEXT_IS, NAME_BLOCKING, V},
    {"hipMemcpy", TEXT_IS, NAME_BLOCKING | NAME_HIP, V},
    {"EventRecord", TEXT_HAS, NAME_RECORD_CALL, V},
    {"WaitEvent", TEXT_HAS, NAME_WAIT_CALL, V},
    {"Query", TEXT_HAS, NAME_WAIT_CALL, V},
    {"enumerate(Data", TEXT_BEGINS, NAME_LOADS_BATCH, V},
    {"DataLoaderIter.__next__", TEXT_HAS, NAME_LOADS_BATCH, V},
    {"cudaMalloc", TEXT_BEGINS, NAME_SETS_UP, V},
    {"cudaFree", TEXT_BEGINS, NAME_SETS_UP, V},
    {"cudaHostAlloc", TEXT_IS, NAME_SETS_UP, V},
    {"cudaHostRegister", TEXT_IS, NAME_SETS_UP, V},
    {"hipMalloc", TEXT_BEGINS, NAME_SETS_UP, V},
    {"hipFree", TEXT_BEGINS, NAME_SETS_UP, V},
    {"hipHostMalloc", TEXT_IS, NAME_SETS_UP, V},
    {"hipHostFree", TEXT_IS, NAME_SETS_UP, V},
    {"ModuleLoad", TEXT_HAS, NAME_SETS_UP, V},
    {"LibraryLoad", TEXT_HAS, NAME_SETS_UP, V},
    {"StreamCreate", TEXT_HAS, NAME_SETS_UP, V},
};

/* Those with capitals and without a prefix are Kineto's until 2021; its flows from launches have had four names. */
static const struct name_line categories[] = {
    {"cpu_op", TEXT_IS, CATEGORY_CPU_OP, L | O | P | H | D | T | S | C},
    {"Operator", TEXT_IS, CATEGORY_CPU_OP, E | D | T | I},
    {"user_annotation", TEXT_IS, CATEGORY_ANNOTATION, L | O | H | D | T | S | P6},
    {"cuda_runtime", TEXT_IS, CATEGORY_RUNTIME, L | O | P | D | T | S | C},
    {"Runtime", TEXT_IS, CATEGORY_RUNTIME, E | D | T | I},
    {"hip_runtime", TEXT_IS, CATEGORY_RUNTIME | CATEGORY_HIP, E | X | T | S | I},
    {"cuda_driver", TEXT_IS, CATEGORY_DRIVER, L | P | X | T | S | C},
    {"hip_driver", TEXT_IS, CATEGORY_DRIVER, X | T | S | I},
    {"kernel", TEXT_IS, CATEGORY_KERNEL, L | O | H | T | S | C},
    {"Kernel", TEXT_IS, CATEGORY_KERNEL, H | T | I},
    {"mtia_ccp_events", TEXT_IS, CATEGORY_KERNEL, H},
    {"gpu_memcpy", TEXT_IS, CATEGORY_COPY, L | O | H | T | S | C},
    {"Memcpy", TEXT_IS, CATEGORY_COPY, H | T | I},
    {"gpu_memset", TEXT_IS, CATEGORY_SET, L | O | H | T | S | C},
    {"Memset", TEXT_IS, CATEGORY_SET, H | T | I},
    {"cuda_sync", TEXT_IS, CATEGORY_SYNC, P | D | T | S | C},
    {"gpu_user_annotation", TEXT_IS, CATEGORY_GPU_ANNOTATION, H | D | T | S},
    {"overhead", TEXT_IS, CATEGORY_OVERHEAD, D | T},
    {"ac2g", TEXT_IS, CATEGORY_LAUNCH_FLOW, L | O | T | C},
    {"async_cpu_to_gpu", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"async_gpu", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"async", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"fwdbwd", TEXT_IS, CATEGORY_AUTOGRAD_FLOW, T},
    {"forward_backward", TEXT_IS, CATEGORY_AUTOGRAD_FLOW, T},
    {"python_function", TEXT_IS, CATEGORY_PYTHON, T | C},
    {"cpu_instant_event", TEXT_IS, CATEGORY_INSTANT, T},
    {"Trace", TEXT_IS, CATEGORY_TRACE, P | H},
    {"", TEXT_IS, CATEGORY_EMPTY, P | H},
};

/* A string may hold NUL characters, all of it counts. */
bool text_compare(const struct strings *strings, uint32_t string, enum comparison comparison, const char *text) {
    const char *bytes = strings_text(strings, string);
    size_t length = strings_length(strings, string), n = strlen(text);
    if (comparison == TEXT_HAS)
        return memmem(bytes, length, text, n) != NULL;
    if (comparison == TEXT_HAS_IN_ANY_CASE)
        return text_has_in_any_case(bytes, length, text);
    return (comparison == TEXT_BEGINS ? length >= n : length == n) && memcmp(bytes, text, n) == 0;
}

/* The string that is the text has its number at once; else all are compared. */
static void mark(const struct strings *strings, struct string_roles *roles, enum comparison comparison,
                 const char *text, struct string_roles given) {
    uint32_t first = 0, end = strings->n;
    if (comparison == TEXT_IS) {
        first = strings_find(strings, text, strlen(text));
        end = first == STRING_NONE ? first : first + 1;
    }
    for (uint32_t string = first; string < end; string++)
        if (comparison == TEXT_IS || text_compare(strings, string, comparison, text)) {
            roles[string].name |= given.name;
            roles[string].category |= given.category;
        }
}

void names_mark(const struct strings *strings, struct string_roles *roles, enum comparison comparison, const char *text,
                uint32_t role) {
    mark(strings, roles, comparison, text, (struct string_roles){.name = role});
}

/* What a line says to a reader: that a name is of HIP it says to all. */
static uint32_t role_to(const struct name_line *line, enum reader reader, uint32_t for_all) {
    return line->readers & reader ? line->role : line->role & for_all;
}

struct string_roles *names_find(const struct strings *strings, enum reader reader, struct arena *arena) {
    struct string_roles *roles = arena_zeros(arena, strings->n, sizeof *roles);
    for (size_t i = 0; roles && i < sizeof names / sizeof *names; i++) {
        uint32_t role = role_to(&names[i], reader, NAME_HIP);
        if (role)
            mark(strings, roles, names[i].comparison, names[i].text, (struct string_roles){.name = role});
    }
    for (size_t i = 0; roles && i < sizeof categories / sizeof *categories; i++) {
        uint32_t role = role_to(&categories[i], reader, CATEGORY_HIP);
        if (role)
            mark(strings, roles, categories[i].comparison, categories[i].text, (struct string_roles){.category = role});
    }
    return roles;
}

void names_keep_numbered_steps(const struct strings *strings, struct string_roles *roles) {
    for (uint32_t string = 0; string < strings->n; string++) {
        if (!(roles[string].name & NAME_STEP))
            continue;
        bool begins = text_compare(strings, string, TEXT_BEGINS, STEP_NAME "#");
        char digit = begins ? strings_text(strings, string)[strlen(STEP_NAME "#")] : 0;
        if (digit < '0' || digit > '9')
            roles[string].name &= ~(uint32_t)NAME_STEP;
    }
}

uint32_t names_count_steps(const struct strings *strings, const struct string_roles *roles) {
    uint32_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++)
        n += roles[string].name & NAME_STEP && string_is_used(roles[string]);
    return n;
}
