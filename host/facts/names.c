/*
 * names.c - the table of names and categories, and the pass that finds them among the strings of a trace.
 *
 * A line has a text, a comparison, the meaning, and its readers, a letter for each:
 *
 *     L  the linker                      O  the older linker
 *     P  HTA's critical path             E  its extended rules, which include P
 *     H  HTA's tables                    Q  HTA's queues
 *     D  the notebook of analyze dlrm    X  our default rules for it, which include D
 *     T  the call tree                   S  the timeline for simulators
 *     I  `sutra info`, in addition to L
 *     C  TraceLens' tables of operators  V  the overview and its findings
 *     Q6 and P6: HTA 0.6, in addition to Q and P
 *
 * A name may have several lines: cudaMemcpy launches a copy to the linker, and blocks to the critical path.
 */
#include <stdbool.h>
#include <string.h>

#include "facts/names.h"
#include "facts/profiler_steps.h"
#include "sutra/hta_version.h"
#include "text/strings.h"

/* ---- Classes of GPU activity ---- */

struct name_rest {
    const char *text;
    size_t length;
};

/* Removes a prefix, if present. */
static bool skip(struct name_rest *rest, const char *word) {
    size_t n = strlen(word);
    if (rest->length < n || memcmp(rest->text, word, n) != 0)
        return false;
    rest->text += n;
    rest->length -= n;
    return true;
}

static bool is_at_end(struct name_rest rest) {
    skip(&rest, ".kd");
    return rest.length == 0;
}

/*
 * By category, and for kernels and memsets by name:
 *
 *     COPY            MEMORY_COPY_HOST_TO_DEVICE and the like, __amd_rocclr_copyBuffer[Rect][Aligned][.kd]
 *     COMPUTE         __amd_rocclr_fillBuffer[Aligned][.kd]
 *     COMMUNICATION   contains nccl, rccl or cross_device_reduce, in any case
 *     COMPUTE         otherwise
 */
enum device_class device_class_of(uint32_t category, const char *text, size_t length) {
    struct name_rest name = {text, length};
    if (!(category & CATEGORY_WORK))
        return DEVICE_NO_WORK;
    if (category & CATEGORY_COPY)
        return DEVICE_COPY;
    if (category & CATEGORY_KERNEL && skip(&name, "MEMORY_COPY_")) {
        if ((skip(&name, "HOST_TO_DEVICE") || skip(&name, "DEVICE_TO_HOST") || skip(&name, "DEVICE_TO_DEVICE")) &&
            is_at_end(name))
            return DEVICE_COPY;
    } else if (category & CATEGORY_KERNEL && skip(&name, "__amd_rocclr_copyBuffer")) {
        skip(&name, "Rect");
        skip(&name, "Aligned");
        if (is_at_end(name))
            return DEVICE_COPY;
    } else if (skip(&name, "__amd_rocclr_fillBuffer")) {
        skip(&name, "Aligned");
        if (is_at_end(name))
            return DEVICE_COMPUTE;
    }
    bool communicates = text_has_in_any_case(text, length, "nccl") || text_has_in_any_case(text, length, "rccl") ||
                        text_has_in_any_case(text, length, "cross_device_reduce");
    return communicates ? DEVICE_COMMUNICATION : DEVICE_COMPUTE;
}

/*
 * Types of kernels by HTA's regular expressions. HTA 0.5:
 *
 *     COMMUNICATION   ^nccl.*Kernel               so ncclKernel_..., ncclDevKernel_... and ncclSymKernel_...
 *     MEMORY          ^Memcpy, ^Memset, ^dma
 *     OTHER           Memcpy or Sync anywhere (Memset only matches at the beginning, which is MEMORY)
 *     COMPUTATION     otherwise
 *
 * HTA 0.6:
 *
 *     COMMUNICATION   ^nccl, ^hip, ^hccl, ncclKernel anywhere
 *     MEMORY          ^Memcpy, ^Memset, ^dma (and ^hipMemcpy, ^hipMemset unless ^hip is COMMUNICATION)
 *     OTHER           Memcpy, Memset, dma or Sync anywhere, ^Stream Wait Event, ^cuda.*LaunchKernel, ^runFunction, and
 *                     prefixes of MTIA kernels
 *     COMPUTATION     otherwise
 *
 * A dot does not match a line end, so the text that it matches must be on the first line.
 */

const char *const kernel_type_names[KERNEL_N_TYPES] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"};

enum kernel_type kernel_type_of(const char *name, size_t length) {
    const char *line_end = memchr(name, '\n', length);
    size_t line = line_end ? (size_t)(line_end - name) : length;
    if (text_begins_with(name, line, "nccl") && text_has(name + 4, line - 4, "Kernel"))
        return KERNEL_COMMUNICATION;
    if (text_begins_with(name, length, "Memcpy") || text_begins_with(name, length, "Memset") ||
        text_begins_with(name, length, "dma"))
        return KERNEL_MEMORY;
    return text_has(name, line, "Memcpy") || text_has(name, line, "Sync") ? KERNEL_OTHER : KERNEL_COMPUTATION;
}

/* Whether a text begins with one of the words or, with `anywhere`, contains one. */
static bool matches_any(const char *name, size_t length, const char *const *words, size_t n, bool anywhere) {
    for (size_t i = 0; i < n; i++)
        if (anywhere ? text_has(name, length, words[i]) : text_begins_with(name, length, words[i]))
            return true;
    return false;
}

#define N(words) (sizeof(words) / sizeof *(words))

enum kernel_type kernel_type_of_0_6(const char *name, size_t length, bool hip_communicates) {
    static const char *const memory[] = {"Memcpy", "Memset", "dma", "hipMemcpy", "hipMemset"};
    static const char *const other[] = {"Memcpy", "Memset", "dma", "Sync"};
    static const char *const other_begins[] = {"Stream Wait Event",
                                               "runFunction",
                                               "job_exe",
                                               "packet",
                                               "pe_exe",
                                               "cpum_exe_subgraph",
                                               "collective_subgraph_execution"};
    const char *line_end = memchr(name, '\n', length);
    size_t line = line_end ? (size_t)(line_end - name) : length;
    bool hip = text_begins_with(name, length, "hip");
    if (text_begins_with(name, length, "nccl") || text_begins_with(name, length, "hccl") || (hip && hip_communicates) ||
        text_has(name, line, "ncclKernel"))
        return KERNEL_COMMUNICATION;
    if (matches_any(name, length, memory, N(memory), false))
        return KERNEL_MEMORY;
    bool launch = text_begins_with(name, line, "cuda") && text_has(name + 4, line - 4, "LaunchKernel");
    bool is_other = launch || matches_any(name, line, other, N(other), true) ||
                    matches_any(name, length, other_begins, N(other_begins), false);
    return is_other ? KERNEL_OTHER : KERNEL_COMPUTATION;
}

const char *sutra_hta_version_name(enum sutra_hta_version hta_version) {
    static const char *const names[SUTRA_HTA_N_VERSIONS] = {"0.5", "0.6"};
    return (unsigned)hta_version < SUTRA_HTA_N_VERSIONS ? names[hta_version] : "";
}

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
    {"urEnqueue", TEXT_BEGINS, NAME_LAUNCH_KERNEL, I | V},
    {"zeCommandListAppend", TEXT_BEGINS, NAME_LAUNCH_KERNEL, I | V},
    {"runFunction", TEXT_BEGINS, NAME_LAUNCH_KERNEL, I | V},

    {"cudaMemcpy", TEXT_IS, NAME_BLOCKING, P},
    {"cudaMemcpyAsync", TEXT_IS, NAME_BLOCKING, P},
    {"cudaDeviceSynchronize", TEXT_IS, NAME_BLOCKING, P},
    {"cudaStreamSynchronize", TEXT_IS, NAME_BLOCKING, P | D},
    {"cudaEventSynchronize", TEXT_IS, NAME_BLOCKING, P},
    {"cudaEventQuery", TEXT_IS, NAME_BLOCKING, P},
    {"cudaMemcpyFromSymbol", TEXT_IS, NAME_BLOCKING, E},
    {"cudaMemcpyToSymbol", TEXT_IS, NAME_BLOCKING, E},
    {"hipStreamSynchronize", TEXT_IS, NAME_BLOCKING | NAME_HIP, X},

    {"cudaHostAlloc", TEXT_IS, NAME_LOCKS_RUNTIME, P6},
    {"cudaLaunchKernel", TEXT_IS, NAME_LOCKS_RUNTIME, P6},
    {"cudaMemcpyAsync", TEXT_IS, NAME_LOCKS_RUNTIME, P6},

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

    {"launch", TEXT_HAS_IN_ANY_CASE, NAME_LAUNCH_KERNEL, V},
    {"graphlaunch", TEXT_HAS_IN_ANY_CASE, NAME_LAUNCH_GRAPH, V},
    {"memcpy", TEXT_HAS_IN_ANY_CASE, NAME_LAUNCH_COPY, V},
    {"memset", TEXT_HAS_IN_ANY_CASE, NAME_LAUNCH_SET, V},
    {"synchronize", TEXT_HAS_IN_ANY_CASE, NAME_BLOCKING, V},
    {"urEventWait", TEXT_IS, NAME_BLOCKING, V},
    {"urQueueFinish", TEXT_IS, NAME_BLOCKING, V},
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

/* Kineto wrote capitalized names without a prefix until 2021; its launch flows have had four names. */
static const struct name_line categories[] = {
    {"cpu_op", TEXT_IS, CATEGORY_CPU_OP, L | O | P | H | D | T | S | C},
    {"Operator", TEXT_IS, CATEGORY_CPU_OP, E | D | T | I},
    {"user_annotation", TEXT_IS, CATEGORY_ANNOTATION, L | O | H | D | T | S | P6},
    {"cuda_runtime", TEXT_IS, CATEGORY_RUNTIME, L | O | P | D | T | S | C},
    {"Runtime", TEXT_IS, CATEGORY_RUNTIME, E | D | T | I},
    {"hip_runtime", TEXT_IS, CATEGORY_RUNTIME | CATEGORY_HIP, E | X | T | S | I},
    {"cuda_driver", TEXT_IS, CATEGORY_DRIVER, L | P | X | T | S | C},
    {"hip_driver", TEXT_IS, CATEGORY_DRIVER, X | T | S | I},
    {"xpu_runtime", TEXT_IS, CATEGORY_RUNTIME, T | S | I},
    {"xpu_driver", TEXT_IS, CATEGORY_DRIVER, T | S | I},
    {"mtia_runtime", TEXT_IS, CATEGORY_RUNTIME, T | S | I},
    {"privateuse1_runtime", TEXT_IS, CATEGORY_RUNTIME, T | S | I},
    {"privateuse1_driver", TEXT_IS, CATEGORY_DRIVER, T | S | I},
    {"enqueue", TEXT_IS, CATEGORY_RUNTIME, T | I},
    {"dequeue", TEXT_IS, CATEGORY_RUNTIME, T | I},
    {"kernel", TEXT_IS, CATEGORY_KERNEL, L | O | H | T | S | C},
    {"Kernel", TEXT_IS, CATEGORY_KERNEL, H | T | I},
    {"mtia_ccp_events", TEXT_IS, CATEGORY_KERNEL, H},
    {"mtia_ccp_events", TEXT_IS, CATEGORY_KERNEL | CATEGORY_MTIA, T | S | I},
    {"npu", TEXT_IS, CATEGORY_KERNEL | CATEGORY_NPU, T | S | I},
    {"npu", TEXT_IS, CATEGORY_EMPTY, P | H},
    {"collective_comm", TEXT_IS, CATEGORY_KERNEL | CATEGORY_COMMUNICATION, T | S | I},
    {"gpu_memcpy", TEXT_IS, CATEGORY_COPY, L | O | H | T | S | C},
    {"Memcpy", TEXT_IS, CATEGORY_COPY, H | T | I},
    {"gpu_memset", TEXT_IS, CATEGORY_SET, L | O | H | T | S | C},
    {"Memset", TEXT_IS, CATEGORY_SET, H | T | I},
    {"cuda_sync", TEXT_IS, CATEGORY_SYNC, P | D | T | S | C | I},
    {"xpu_sync", TEXT_IS, CATEGORY_SYNC, T | S | I},
    {"gpu_user_annotation", TEXT_IS, CATEGORY_GPU_ANNOTATION, H | D | T | S},
    {"overhead", TEXT_IS, CATEGORY_OVERHEAD, D | T},
    {"ac2g", TEXT_IS, CATEGORY_LAUNCH_FLOW, L | O | T | C},
    {"async_cpu_to_gpu", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"async_npu", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"async_gpu", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"async", TEXT_IS, CATEGORY_LAUNCH_FLOW, T | I},
    {"fwdbwd", TEXT_IS, CATEGORY_AUTOGRAD_FLOW, T},
    {"forward_backward", TEXT_IS, CATEGORY_AUTOGRAD_FLOW, T},
    {"python_function", TEXT_IS, CATEGORY_PYTHON, T | C},
    {"cpu_instant_event", TEXT_IS, CATEGORY_INSTANT, T},
    {"Trace", TEXT_IS, CATEGORY_TRACE, P | H},
    {"", TEXT_IS, CATEGORY_EMPTY, P | H},
};

/* Strings may contain NUL characters. */
bool text_compare(const struct strings *strings, uint32_t string, enum comparison comparison, const char *text) {
    const char *bytes = strings_text(strings, string);
    size_t length = strings_length(strings, string), n = strlen(text);
    if (comparison == TEXT_HAS)
        return memmem(bytes, length, text, n) != NULL;
    if (comparison == TEXT_HAS_IN_ANY_CASE)
        return text_has_in_any_case(bytes, length, text);
    return (comparison == TEXT_BEGINS ? length >= n : length == n) && memcmp(bytes, text, n) == 0;
}

/* A string that equals the text is found by hash; otherwise all strings are compared. */
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

/* The role of a line for a reader; the roles `for_all` (that a name is of HIP) apply to all readers. */
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
        const char *name = strings_text(strings, string);
        if (!profiler_step_number(name, strings_length(strings, string), STEPS_HTA_0_6))
            roles[string].name &= ~(uint32_t)NAME_STEP;
    }
}

uint32_t names_count_steps(const struct strings *strings, const struct string_roles *roles) {
    uint32_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++)
        n += roles[string].name & NAME_STEP && string_is_used(roles[string]);
    return n;
}
