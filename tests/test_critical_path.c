/*
 * test_critical_path.c - tests the rules of the critical path, one small trace for each rule: first HTA's rules, then
 * the extended rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "path_table.h"

struct path_case {
    const char *name;
    const char *trace;
    const char *expected; /* a path; or the beginning of how it ended */
};

/* A step from 0 to 100 with one launch and its kernel: events 0, 1 and 2. */
#define BASE STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7)

static const struct path_case cases[] = {
    {"a launch and its kernel are a path", TRACE_OF(BASE), "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},

    /* ---- Columns and rows ---- */
    {"a field that no event has ends the reference",
     BARE_TRACE(
         "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"ts\":0,\"dur\":5,\"args\":{}}"),
     "crash: no event has the field tid"},
    {"so do traces without any args",
     BARE_TRACE("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":5}"),
     "crash: no event has the field args"},
    {"one real start rounds starts up and ends down",
     TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10.5, 2.5, 7) "," KERNEL(20, 15.25, 5.5, 7)),
     "1s>1e O2 3s>3e O1 2s>2e O4 1s>2s L5 | 1s 2s 2e"},
    {"an event without a start rounds as well",
     TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2.5, 7) "," KERNEL(20, 15, 5.75, 7) ",{\"ph\":\"M\",\"name\":\"x\"}"),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a real duration alone rounds nothing",
     TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2.5, 7) "," KERNEL(20, 15, 5.75, 7)),
     "1s>1e O2.5 3s>3e O1 2s>2e O5.75 1s>2s L5 | 1s 2s 2e"},
    {"rows without a duration or category and those of category Trace do not count, whatever their phase",
     TRACE_OF(
         BASE
         ",{\"ph\":\"M\",\"cat\":\"cpu_op\",\"name\":\"m\",\"pid\":1,\"tid\":1,\"ts\":30,\"dur\":4,\"args\":{}}"
         ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":40}"
         ",{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":2}," EVENT(
             "Trace", "t", 1, 1, 40, 2, "") ",{\"cat\":null,\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":2}"),
     "1s>1e O2 1e>3s D0 3s>3e O4 8s>8e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"times count from the first row that counts",
     BARE_TRACE(STEP(1, 1000, 100) "," LAUNCH(1010, 2, 7) "," KERNEL(20, 1015, 5, 7) "," OP_ON(9, "o", 1001, 1, 1)),
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a stream that is a string ends the reference", TRACE_OF(BASE "," KERNEL("20", 30, 5, 8)),
     "crash: event 3: its stream is not an integer"},
    {"so does a correlation that is a string",
     TRACE_OF(BASE "," EVENT("cpu_op", "a", 1, 1, 40, 2, "\"correlation\":\"7\"")),
     "crash: event 3: its correlation is not an integer"},

    /* ---- Links ---- */
    {"stream 0 is no stream to the reference", TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(0, 15, 5, 7)),
     "crash: no launch has a kernel"},
    {"correlation 0 links like any other", TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2, 0) "," KERNEL(20, 15, 5, 0)),
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"correlation -1 links nothing",
     TRACE_OF(STEP(1, 0, 100) "," EVENT("cuda_runtime", "cudaLaunchKernel", 1, 1, 10, 2,
                                        "\"correlation\":-1") "," EVENT("kernel", "k", 0, 20, 15, 5,
                                                                        "\"stream\":20,\"correlation\":-1")),
     "crash: no launch has a kernel"},
    {"a link to event 0 counts as none", TRACE_OF(KERNEL(20, 15, 5, 7) "," STEP(1, 0, 100) "," LAUNCH(10, 2, 7)),
     "crash: no launch has a kernel"},
    {"of several calls of a correlation the last is linked, which the window then takes twice",
     TRACE_OF(BASE "," CALL("cudaFuncGetAttributes", 5, 1, 7)), "empty: several calls have the correlation of event 2"},

    /* ---- Steps and window ---- */
    {"a step without a number ends the reference",
     TRACE_OF(BASE "," EVENT("user_annotation", "ProfilerStepX", 1, 1, 0, 1, "")),
     "crash: the name \"ProfilerStepX\" has no step number"},
    {"white space may stand around the step's number sign",
     TRACE_OF(BASE "," EVENT("cpu_op", "ProfilerStep # 2", 1, 1, 90, 1, "")),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"of two steps the last is left out with its kernels",
     TRACE_OF(BASE "," STEP(2, 60, 40) "," LAUNCH(60, 2, 8) "," KERNEL(20, 64, 5, 8) "," OP("a", 59, 1, 5)),
     "1s>1e O2 1e>6s D0 6s>6e O1 7s>7e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"two steps that are on the GPU only keep nothing",
     TRACE_OF(LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," ON_STREAM(
         "gpu_user_annotation", "ProfilerStep#1", 0, 20, 0, 50, 1,
         "") "," ON_STREAM("gpu_user_annotation", "ProfilerStep#2", 0, 20, 50, 50, 2, "")),
     "crash: no event name contains \"ProfilerStep\""},
    {"one step name that occurs twice leaves nothing out", TRACE_OF(BASE "," STEP(1, 60, 40) "," OP("a", 70, 4, 5)),
     "1s>1e O2 1e>4s D0 4s>4e O4 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"two calls with one correlation of a kept kernel end several steps",
     TRACE_OF(BASE "," STEP(2, 60, 40) "," CALL("cudaFuncGetAttributes", 5, 1, 7)),
     "empty: several calls have the correlation of event 2"},
    {"no step at all ends the reference", TRACE_OF(OP("a", 0, 9, 1) "," LAUNCH(1, 2, 7) "," KERNEL(20, 15, 5, 7)),
     "crash: no event name contains \"ProfilerStep\""},
    {"both ends belong to the window, and only starts are looked at",
     TRACE_OF(OP("before", 0, 30, 1) "," STEP(1, 5, 95) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," OP_ON(
         2, "first", 5, 1, 2) "," OP_ON(2, "last", 100, 50, 3) "," OP_ON(2, "behind", 101, 1, 4)),
     "2s>2e O2 4s>4e O1 4e>5s D0 5s>5e O50 3s>3e O5 2s>3s L5 | 4s 4e 5s 5e"},
    {"a row of no duration is not in the window", TRACE_OF(BASE "," OP("a", 40, 0, 5)),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a kernel is in the window if its launch is, whenever it runs",
     TRACE_OF(BASE "," LAUNCH(99, 2, 8) "," KERNEL(20, 500, 0, 8) "," LAUNCH(101, 2, 9) "," KERNEL(20, 50, 5, 9)),
     "1s>1e O2 1e>3s D0 3s>3e O2 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O0 2e>4s K480 | 1s 2s 2e 4s"},
    {"a window in which nothing happens has no path", BARE_TRACE(STEP(1, 0, 0) "," OP("a", 10, 1, 5)),
     "empty: no events in the window"},

    /* ---- Operators of the CPU ---- */
    {"operators nest, and follow each other on the top level",
     TRACE_OF(BASE "," OP("a", 20, 20, 5) "," OP("b", 22, 5, 5) "," OP("c", 30, 5, 5) "," OP("d", 50, 5, 5)),
     "1s>1e O2 1e>3s D0 3s>4s O2 4s>4e O5 4e>5s O3 5s>5e O5 5e>3e O5 3e>6s D0 6s>6e O5 7s>7e O1 2s>2e O5 1s>2s L5 | 1s "
     "1e 3s 4s 4e 5s 5e 3e 6s 6e"},
    {"threads go by pid and tid, numbers before strings",
     TRACE_OF(BASE "," OP_ON("x", "s", 20, 1, 5) "," OP_ON(30, "n", 20, 2, 5) "," OP_ON(4, "m", 20, 3, 5) "," EVENT(
         "cpu_op", "p", 0, 99, 20, 4, "") "," EVENT("cpu_op", "q", "a", 1, 20, 5, "")),
     "6s>6e O4 1s>1e O2 5s>5e O3 8s>8e O1 4s>4e O2 3s>3e O1 7s>7e O5 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"rows without a tid are in no thread",
     TRACE_OF(BASE ",{\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"ts\":30,\"dur\":4,\"args\":{}}"),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a thread with a row on a stream is none", TRACE_OF(BASE "," EVENT("cpu_op", "a", 0, 20, 30, 5, "")),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"an end comes before a start at the same time", TRACE_OF(BASE "," OP("a", 20, 10, 5) "," OP("b", 30, 5, 5)),
     "1s>1e O2 1e>3s D0 3s>3e O10 3e>4s D0 4s>4e O5 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 3e 4s 4e"},
    {"of starts at the same time the longer is outside, then the first",
     TRACE_OF(BASE "," OP("b", 20, 5, 5) "," OP("a", 20, 10, 5) "," OP("c", 20, 5, 5)),
     "1s>1e O2 1e>4s D0 4s>3s O0 3s>5s O0 5s>5e O5 5e>3e O0 3e>4e O5 6s>6e O1 2s>2e O5 1s>2s L5 | 1s 1e 4s 3s 5s 5e 3e "
     "4e"},
    {"an end closes the innermost frame, whosever it is",
     TRACE_OF(BASE "," OP("a", 20, 10, 5) "," OP("b", 25, 10, 5) "," OP("c", 32, 10, 5)),
     "empty: event 5 starts before event 4, which it depends on"},
    {"rows that are no operators are frames without nodes",
     TRACE_OF(BASE "," EVENT("python_function", "f", 1, 1, 20, 10, "") "," OP("a", 22, 5, 5)),
     "1s>1e O2 1e>4s D0 4s>4e O5 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"event 0 is no operator",
     TRACE_OF(OP("a", 1, 5, 5) "," STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7)),
     "2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 2s 3s 3e"},
    {"a trace without operators ends the reference", BARE_TRACE(BASE), "crash: no event has the category cpu_op"},
    {"and one without calls does as soon as a row is no operator",
     TRACE_OF(EVENT("other", "x", 1, 1, 3, 1, "") "," STEP(1, 0, 100) "," OP("a", 10, 5, 1)),
     "crash: no event has the category cuda_runtime: the GPU was not recorded"},
    {"and one whose launches have no kernels", TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2, 7)),
     "crash: no launch has a kernel"},
    {"calls that wait take no time of the CPU",
     TRACE_OF(BASE "," OP("a", 20, 30, 5) "," CALL("cudaEventQuery", 22, 9, 55)),
     "1s>1e O2 1e>3s D0 3s>4s O2 4s>4e O0 4e>3e O19 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 4s 4e 3e"},
    {"a driver's call is an operator too",
     TRACE_OF(BASE "," EVENT("cuda_driver", "cuLaunchKernelEx", 1, 1, 30, 5, "\"correlation\":9")),
     "1s>1e O2 1e>3s D0 3s>3e O5 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a duration below 1 closes its frame before it opens",
     TRACE_OF(BASE "," OP("a", 20, 0.5, 5) "," OP("b", 30, 5, 5)),
     "empty: event 3 starts before event 4, which it depends on"},

    /* ---- Queues ---- */
    {"two launches of one correlation end the reference", TRACE_OF(BASE "," LAUNCH(200, 1, 7)),
     "crash: two launches have the correlation of event 3"},
    {"a launch whose partner is on no stream ends the reference",
     TRACE_OF(BASE "," LAUNCH(30, 5, 8) "," EVENT("cuda_sync", "Context Sync", 0, 0, 31, 2, "\"correlation\":8")),
     "crash: the launch at event 3 has no kernel on a stream"},
    {"two kernels of one launch have no queue length", TRACE_OF(BASE "," KERNEL(20, 30, 5, 7)),
     "empty: several kernels have the correlation of event 1"},
    {"a kernel that finds another in its queue follows that one",
     TRACE_OF(BASE "," LAUNCH(13, 1, 8) "," KERNEL(20, 21, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K1 | 2s 2e 4s 4e"},
    {"at the same time a launch counts before a kernel",
     TRACE_OF(
         STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," LAUNCH(15, 2, 8) "," KERNEL(20, 25, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K5 | 2s 2e 4s 4e"},
    {"each stream has a queue of its own", TRACE_OF(BASE "," LAUNCH(13, 1, 8) "," KERNEL(21, 21, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L8 | 1s 1e 3s 4s 4e"},

    /* ---- Kernels ---- */
    {"a kernel on an idle stream follows its launch", TRACE_OF(BASE "," LAUNCH(30, 2, 8) "," KERNEL(20, 35, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"a kernel that was launched before the last one's end follows that one",
     TRACE_OF(BASE "," LAUNCH(18, 2, 8) "," KERNEL(20, 35, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K15 | 1s 2s 2e 4s 4e"},
    {"a launch that begins with the last kernel's end is not later",
     TRACE_OF(BASE "," LAUNCH(20, 2, 8) "," KERNEL(20, 35, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K15 | 1s 2s 2e 4s 4e"},
    {"names of HIP are unknown to the reference",
     TRACE_OF(STEP(1, 0, 100) "," CALL("hipLaunchKernel", 10, 2, 7) "," KERNEL(20, 15, 5, 7) "," OP("a", 1, 2, 3)),
     "crash: no launch has a kernel"},
    {"a copy is launched by its call",
     TRACE_OF(BASE
              "," CALL("cudaMemcpyAsync", 30, 9, 8) "," ON_STREAM("gpu_memcpy", "Memcpy HtoD", 0, 20, 35, 5, 8, "")),
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"a kernel that begins 1 before the last one's end overlaps by rounding",
     TRACE_OF(BASE "," LAUNCH(12, 2, 8) "," KERNEL(20, 19, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K0 | 2s 2e 4s 4e"},
    {"a kernel that begins 2 before the last one's end has no place",
     TRACE_OF(BASE "," LAUNCH(12, 2, 8) "," KERNEL(20, 18, 5, 8)),
     "empty: event 4 starts before event 2, which it depends on"},
    {"a fraction below 0 stays",
     TRACE_OF(
         STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5.5, 7) "," LAUNCH(12, 2, 8) "," KERNEL(20, 20, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5.5 4s>4e O5 2e>4s K-0.5 | 2s 2e 4s 4e"},

    /* ---- Synchronisation ---- */
    {"a stream's synchronisation waits for its last kernel",
     TRACE_OF(BASE "," CALL("cudaStreamSynchronize", 13, 10, 8) "," SYNC("Stream Sync", 20, 14, 7, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 1s 2s 2e"},
    {"it stands where it ends in the order of time",
     TRACE_OF(BASE "," CALL("cudaStreamSynchronize", 1, 10, 8) "," SYNC("Stream Sync", 20, 2, 13, 8)),
     "3s>1s O9 1s>1e O2 1e>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 3s 1s 2s 2e"},
    {"a context's synchronisation waits for all streams",
     TRACE_OF(BASE "," LAUNCH(13, 1, 9) "," KERNEL(21, 16, 9, 9) "," CALL("cudaDeviceSynchronize", 15, 15,
                                                                          8) "," SYNC("Context Sync", -1, 16, 13, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 2e>5e S0 4e>5e S0 | 1s "
     "1e 3s 4s 4e"},
    {"synchronisation of a stream without kernels waits for nothing",
     TRACE_OF(BASE "," CALL("cudaStreamSynchronize", 13, 10, 8) "," SYNC("Stream Sync", 33, 14, 7, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"synchronisation without a call in the window ends the reference",
     TRACE_OF(BASE "," EVENT("other", "cudaStreamSynchronize", 1, 1, 13, 10,
                             "\"correlation\":8") "," SYNC("Stream Sync", 20, 14, 7, 8)),
     "crash: the call of synchronization event 4 is not in the window"},
    {"synchronisation of an unknown kind ends the reference",
     TRACE_OF(BASE "," CALL("cudaStreamSynchronize", 13, 10, 8) "," SYNC("Odd Sync", 20, 14, 7, 8)),
     "crash: event 4 is an unknown kind of synchronization"},
    {"a repeated wait keeps its place",
     TRACE_OF(BASE "," CALL("cudaDeviceSynchronize", 13, 17, 8) "," SYNC("Context Sync", -1, 14, 7,
                                                                         8) "," SYNC("Context Sync", -1, 14, 8, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O0 6s>6e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 1s 2s 2e"},

#define RECORD  CALL("cudaEventRecord", 13, 1, 30)
#define WAITING CALL("cudaStreamWaitEvent", 16, 1, 31)
#define HELD    LAUNCH(18, 1, 8) "," KERNEL(21, 26, 5, 8)
    {"a stream wait holds up the next launch on its stream",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," HELD),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 2e>7s S0 | 1s "
     "2s 2e 7s 7e"},
    {"a launch at the time of the record is before it",
     TRACE_OF(STEP(1, 0, 100) "," LAUNCH(13, 2, 7) "," KERNEL(20, 15, 5, 7) "," RECORD "," WAITING "," WAIT(
         "Stream Wait Event", 21, 17, 1, 31, 20, 30) "," HELD),
     "1s>3s O0 3s>3e O1 3e>1e O1 1e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L2 7s>7e O5 2e>7s S0 | 1s "
     "2s 2e 7s 7e"},
    {"a launch at the time of the wait is not behind it",
     TRACE_OF(BASE "," RECORD "," WAITING
                   "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," LAUNCH(16, 1, 8) "," KERNEL(21, 26, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>6s O0 6s>6e O1 6e>4e O0 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L10 | "
     "1s 1e 3s 3e 4s 6s 7s 7e"},
    {"a launch by another thread is not held up",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," CALL_ON(
         2, "cudaLaunchKernel", 18, 1, 8) "," KERNEL(21, 26, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 6s 7s 7e"},
    {"a record of another device's stream has no launch before it",
     TRACE_OF(BASE "," RECORD "," WAITING
                   "," ON_STREAM("cuda_sync", "Stream Wait Event", 5, 21, 17, 1, 31,
                                 ",\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":30") "," HELD),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 1s "
     "1e 3s 3e 4s 4e 6s 7s 7e"},
    {"a wait for an event that was not recorded does nothing",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 99) "," HELD),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 1s "
     "1e 3s 3e 4s 4e 6s 7s 7e"},
    {"waits for one record from two streams leave the reference at a loss",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20,
                                                   30) "," WAIT("Stream Wait Event", 22, 17, 1, 32, 21, 30) "," HELD),
     "empty: events 5 and 6 wait for one record from different streams"},
    {"so do two records with one correlation",
     TRACE_OF(BASE "," RECORD "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," HELD),
     "empty: two records have the correlation of event 4"},
    {"a stream wait whose call is not linked leaves the reference at a loss",
     TRACE_OF(BASE "," RECORD "," CALL("cudaStreamWaitEvent", 16, 1, 77) "," WAIT("Stream Wait Event", 21, 17, 1, 31,
                                                                                  20, 30) "," HELD),
     "empty: no cudaStreamWaitEvent is linked to an event on a stream"},
    {"a stream wait without its call ends the reference",
     TRACE_OF(BASE "," RECORD
                   "," CALL("someWait", 16, 1, 31) "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," HELD),
     "crash: event 5 waits for a CUDA event, but there is no cudaStreamWaitEvent"},
    {"a stream wait of another call ends the reference",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," CALL(
         "someWait", 20, 1, 41) "," WAIT("Stream Wait Event", 22, 21, 1, 41, 20, 30) "," HELD),
     "crash: event 7 waits for a CUDA event without a call of cudaStreamWaitEvent"},
    {"an event's synchronisation waits for the kernel behind the record",
     TRACE_OF(BASE "," RECORD
                   "," CALL("cudaEventSynchronize", 16, 10, 31) "," WAIT("Event Sync", -1, 17, 8, 31, 20, 30)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 6s>6e O1 2s>2e O5 1s>2s L5 2e>4e S0 | 1s 2s 2e"},
    {"it waits for nothing if that kernel has not begun",
     TRACE_OF(BASE "," RECORD "," CALL("cudaEventSynchronize", 1, 10, 31) "," WAIT("Event Sync", -1, 2, 3, 31, 20, 30)),
     "4s>1s O9 1s>1e O2 1e>4e O0 4e>3s D0 3s>3e O1 6s>6e O1 2s>2e O5 1s>2s L5 | 4s 1s 2s 2e"},
    {"with event records a field that is no number leaves the reference at a loss",
     TRACE_OF(BASE
              "," RECORD
              "," CALL("cudaEventSynchronize", 16, 10, 31) "," WAIT("Event Sync", -1, 17, 8, 31, 20, 30) "," LAUNCH(
                  40, 1, 8) "," ON_STREAM("gpu_memcpy", "m", 0, 20, 45, 5, 8, ",\"memory bandwidth (GB/s)\":\"N/A\"")),
     "empty: event 7 has a field that is not a number, and the trace has event records"},
    {"a string of digits is a number to it",
     TRACE_OF(BASE "," RECORD "," CALL("cudaEventSynchronize", 16, 10, 31) "," WAIT(
         "Event Sync", -1, 17, 8, 31, 20, 30) "," LAUNCH(40, 1, 8) "," ON_STREAM("gpu_memcpy", "m", 0, 20, 45, 5, 8,
                                                                                 ",\"bytes\":\" 1_2 \"")),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 2e>4e S0 7s>7e O5 "
     "6s>7s L5 | 1s 2s 2e 4e 6s 7s 7e"},
    {"without event records such fields do not matter",
     TRACE_OF(BASE "," LAUNCH(40, 1, 8) "," ON_STREAM("gpu_memcpy", "m", 0, 20, 45, 5, 8,
                                                      ",\"memory bandwidth (GB/s)\":\"N/A\"")),
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"synchronisation between kernels of one stream is no path",
     TRACE_OF(BASE "," RECORD "," WAITING
                   "," WAIT("Stream Wait Event", 20, 17, 1, 31, 20, 30) "," LAUNCH(18, 1, 8) "," KERNEL(20, 26, 5, 8)),
     "empty: event 7 depends on event 2 of its own stream"},

    /* ---- The longest path ---- */
    {"of ways of equal length the first that was added wins",
     TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," LAUNCH(10, 1, 8) "," KERNEL(
         21, 15, 5, 8) "," CALL("cudaDeviceSynchronize", 15, 15, 9) "," SYNC("Context Sync", -1, 16, 13, 9)),
     "1s>3s O0 3s>3e O1 3e>1e O1 1e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 2e>5e S0 4e>5e S0 | 1s "
     "2s 2e"},
    {"of ends at equal distance the first in the order of nodes wins",
     TRACE_OF(BASE "," OP_ON(3, "a", 0, 10, 1) "," OP_ON(2, "b", 0, 10, 1)),
     "1s>1e O2 4s>4e O10 3s>3e O10 5s>5e O1 2s>2e O5 1s>2s L5 | 4s 4e"},
    {"a path needs an edge that takes time",
     BARE_TRACE(STEP(1, 0, 9) "," CALL("cudaMemcpyAsync", 2, 2, 7) "," KERNEL(20, 2, 0, 7) "," OP("late", 50, 1, 1)),
     "crash: the critical path has no edge"},
};

static const struct path_case extended_cases[] = {
    {"stream 0 is a stream", TRACE_OF(STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(0, 15, 5, 7)),
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a stream in quotes is the same stream",
     TRACE_OF(BASE "," LAUNCH(18, 2, 8) "," KERNEL("20", 25, 5, 8) "," LAUNCH(19, 1, 9) "," KERNEL("main", 25, 5, 9)),
     "1s>1e O2 1e>3s D0 3s>5s O1 5s>5e O1 5e>3e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K5 6s>6e O5 5s>6s L6 | 1s "
     "2s 2e 4s 4e"},
    {"streams of two devices are two streams",
     TRACE_OF(BASE "," LAUNCH(13, 1, 8) "," ON_STREAM("kernel", "k", 1, 20, 16, 9, 8, "")),
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 | 1s 1e 3s 4s 4e"},
    {"a context's synchronisation waits for its own device",
     TRACE_OF(BASE "," LAUNCH(13, 1, 8) "," ON_STREAM("kernel", "k", 1, 20, 16, 9, 8, "") "," CALL(
         "cudaDeviceSynchronize", 15, 15, 9) "," SYNC("Context Sync", -1, 16, 13, 9)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 2e>5e S0 | 1s 1e 3s 4s "
     "4e"},
    {"names of HIP launch, copy and wait",
     TRACE_OF(STEP(1, 0, 100) "," CALL("hipLaunchKernel", 10, 2, 7) "," KERNEL(1, 15, 5, 7) "," CALL(
         "hipMemcpyWithStream", 30, 9, 8) "," KERNEL(1, 35, 3, 8) "," CALL("hipDeviceSynchronize", 41, 9, 9)),
     "1s>1e O2 1e>3s D0 3s>3e O9 3e>5s D0 5s>5e O9 6s>6e O1 2s>2e O5 1s>2s L5 4s>4e O3 3s>4s L5 | 1s 1e 3s 3e 5s 5e"},
    {"a context's synchronisation waits for what ended before its call and those of later ones did",
     TRACE_OF(BASE "," LAUNCH(13, 1, 8) "," KERNEL(21, 17, 20, 8) "," CALL_ON(
         2, "cudaDeviceSynchronize", 15, 30, 9) "," SYNC("Context Sync", -1, 16, 5,
                                                         9) "," CALL_ON(3, "cudaDeviceSynchronize", 15, 15,
                                                                        10) "," SYNC("Context Sync", -1, 16, 13, 10)),
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O0 7s>7e O0 9s>9e O1 2s>2e O5 1s>2s L5 4s>4e O20 3s>4s L4 2e>5e S0 2e>7e S0 | 1s 1e 3s 4s 4e"},
    {"of several calls of a correlation the last is the launch",
     TRACE_OF(BASE "," CALL("cudaFuncGetAttributes", 5, 1, 7) "," LAUNCH(12, 1, 7)),
     "3s>3e O1 3e>1s D0 1s>1e O2 1e>4s D0 4s>4e O1 5s>5e O1 2s>2e O5 4s>2s L3 | 3s 3e 1s 1e 4s 2s 2e"},
    {"one launch may have many kernels",
     TRACE_OF(STEP(1, 0, 100) "," CALL("cudaGraphLaunch", 10, 2, 7) "," KERNEL(20, 15, 5, 7) "," KERNEL(20, 21, 5, 7)),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 3s>3e O5 2e>3s K1 | 1s 2s 2e 3s 3e"},
    {"a kernel without a launch follows the one before", TRACE_OF(BASE "," KERNEL(20, 30, 5, 8)),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 3s>3e O5 2e>3s K10 | 1s 2s 2e 3s 3e"},
    {"overlapping kernels of a stream lose no time", TRACE_OF(BASE "," LAUNCH(12, 2, 8) "," KERNEL(20, 17, 5, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K0 | 1s 2s 2e 4s 4e"},
    {"event 0 is an operator like any other",
     TRACE_OF(OP("a", 1, 5, 5) "," STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7)),
     "0s>0e O5 0e>2s D0 2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 0s 0e 2s 3s 3e"},
    {"a trace of the CPU alone has a path",
     BARE_TRACE(STEP(1, 0, 100) "," OP("a", 10, 5, 1) "," EVENT("other", "x", 1, 1, 3, 1, "")), "1s>1e O5 | 1s 1e"},
    {"two streams may wait for one record",
     TRACE_OF(BASE "," RECORD "," WAITING "," WAIT("Stream Wait Event", 21, 17, 1, 31, 20, 30) "," HELD "," CALL(
         "cudaStreamWaitEvent", 19, 1, 32) "," WAIT("Stream Wait Event", 22, 18, 1, 32, 20,
                                                    30) "," LAUNCH(21, 1, 9) "," KERNEL(22, 27, 5, 9)),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 6e>8s D0 8s>8e O1 8e>10s D0 10s>10e O1 12s>12e O1 "
     "2s>2e O5 1s>2s L5 7s>7e O5 2e>7s S0 11s>11e O5 2e>11s S0 10s>11s L6 | 1s 1e 3s 3e 4s 4e 6s 6e 8s 8e 10s 11s 11e"},
    {"synchronisation without a call is passed over",
     TRACE_OF(BASE "," SYNC("Stream Sync", 20, 14, 7, 8) "," SYNC("Odd Sync", 20, 14, 7, 9)),
     "1s>1e O2 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"fields that are no numbers do not matter beside event records",
     TRACE_OF(BASE
              "," RECORD
              "," CALL("cudaEventSynchronize", 16, 10, 31) "," WAIT("Event Sync", -1, 17, 8, 31, 20, 30) "," LAUNCH(
                  40, 1, 8) "," ON_STREAM("gpu_memcpy", "m", 0, 20, 45, 5, 8, ",\"memory bandwidth (GB/s)\":\"N/A\"")),
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 2e>4e S0 7s>7e O5 "
     "6s>7s L5 | 1s 2s 2e 4e 6s 7s 7e"},
    {"nothing waits for what ends later",
     TRACE_OF(BASE "," CALL("cudaStreamSynchronize", 13, 2, 8) "," SYNC("Stream Sync", 20, 14, 7, 8)),
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"the last step counts as the others do",
     TRACE_OF(BASE "," STEP(2, 60, 40) "," LAUNCH(60, 2, 8) "," KERNEL(20, 64, 5, 8)),
     "1s>1e O2 1e>4s D0 4s>4e O2 6s>6e O1 2s>2e O5 1s>2s L5 5s>5e O5 4s>5s L4 | 1s 1e 4s 5s 5e"},
};

/* Without an annotation. */
static const struct path_case whole_cases[] = {
    {"without an annotation the whole trace is looked at",
     BARE_TRACE(OP("a", 0, 9, 1) "," LAUNCH(1, 2, 7) "," KERNEL(20, 15, 5, 7) "," OP("b", 50, 9, 2)),
     "0s>1s O1 1s>1e O2 1e>0e O6 0e>3s D0 3s>3e O9 2s>2e O5 1s>2s L14 | 0s 1s 2s 2e"},
};

/* Event 0 may be an operator, by the reference's rules. */
static const struct path_case first_cases[] = {
    {"event 0 may be an operator",
     TRACE_OF(OP("a", 1, 5, 5) "," STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7)),
     "0s>0e O5 0e>2s D0 2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 0s 0e 2s 3s 3e"},
};

/* With an annotation that is empty, by the reference's rules. */
static const struct path_case empty_cases[] = {
    {"an empty annotation is the whole trace",
     TRACE_OF(
         OP("b", 150, 9, 2) "," STEP(1, 0, 100) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," OP("a", 160, 9, 2)),
     "2s>2e O2 2e>4s D0 4s>4e O9 5s>5e O1 3s>3e O5 2s>3s L5 | 2s 2e 4s 4e"},
};

/* Two launches whose kernels follow each other on a stream; the second begins at `ts`. */
#define TWO_KERNELS(ts)                                                                                                \
    TRACE_OF(                                                                                                          \
        STEP(1, 0, 5000) "," LAUNCH(10, 2, 7) "," KERNEL(20, 15, 5, 7) "," LAUNCH(13, 1, 8) "," KERNEL(20, ts, 5, 8))
#define TWO_LAUNCHES "1s>1e O2 3s>3e O1 1e>3s D0 5s>5e O1 2s>2e O5 4s>4e O5 "

/* HTA 0.6 classifies events with "Loader" in their names as data loading. */
static const struct path_case newer_cases[] = {
    {"calls that take the runtime's lock wait for the one that ends first",
     TRACE_OF(
         STEP(1, 0, 100) "," LAUNCH(10, 10, 7) "," KERNEL(20, 25, 5, 7) "," CALL_ON(2, "cudaMemcpyAsync", 12, 4, 8)),
     "3s>3e O4 1s>3e D0 3e>1e D0 4s>4e O1 2s>2e O5 1s>2s L15 | 1s 2s 2e"},
    {"the backward thread goes on where the forward thread ended",
     TRACE_OF(BASE "," EVENT("user_annotation", "forward", 1, 1, 5, 20, "") "," OP_ON(2, "autograd::x", 40, 10, 6)),
     "1s>1e O2 1e>4s D0 4s>4e O10 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 4s 4e"},
    {"unless there are two of them",
     TRACE_OF(BASE "," EVENT("user_annotation", "forward", 1, 1, 5, 20,
                             "") "," OP_ON(2, "autograd::x", 40, 10, 6) "," OP_ON(3, "autograd::y", 40, 10, 7)),
     "1s>1e O2 4s>4e O10 5s>5e O10 6s>6e O1 2s>2e O5 1s>2s L5 | 4s 4e"},
    {"a kernel hangs on the one before", TWO_KERNELS(1519), TWO_LAUNCHES "2e>4s K1499 | 2s 2e 4s 4e"},
    {"but not after 1.5 ms", TWO_KERNELS(1520), TWO_LAUNCHES "| 2s 2e"},
    {"weights below 0 are 0", TWO_KERNELS(17), TWO_LAUNCHES "2e>4s K0 | 2s 2e 4s 4e"},
    {"what loads data is an operator", TRACE_OF(BASE "," EVENT("user_annotation", "Loader.next", 1, 1, 30, 50, "")),
     "1s>1e O2 1e>3s D0 3s>3e O50 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 3e"},
    {"a step has a number behind its name, or it cuts nothing off",
     TRACE_OF(BASE "," EVENT("user_annotation", "my ProfilerStep", 1, 1, 9, 1, "")),
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
};

/* The state of a test: a case and its rules. */
struct path_test {
    const struct path_case *of;
    struct path_rules rules;
};

static void follows_its_rule(void **state) {
    const struct path_test *test = *state;
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse(context, test->of->trace);
    struct path_search search;
    char text[4000];
    assert_int_equal(path_search_run(&search, context, trace, &test->rules, NULL), SUTRA_OK);
    tell_search(&search, text, sizeof text);
    assert_string_equal(text, test->of->expected);
    path_search_free(&search);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int run_table(const char *name, const struct path_case *table, size_t n, struct path_rules rules) {
    struct CMUnitTest tests[COUNT(cases)];
    struct path_test states[COUNT(cases)];
    for (size_t i = 0; i < n; i++) {
        states[i] = (struct path_test){&table[i], rules};
        tests[i] = (struct CMUnitTest){table[i].name, follows_its_rule, NULL, NULL, &states[i]};
    }
    return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}

int main(void) {
    const struct path_rules reference = {.annotation = "ProfilerStep"};
    const struct path_rules first = {.annotation = "ProfilerStep", .first_counts = true}, empty = {.annotation = ""};
    const struct path_rules extended = {.annotation = "ProfilerStep", .extended = true}, whole = {.extended = true};
    int failed = run_table("reference", cases, COUNT(cases), reference);
    failed += run_table("extended", extended_cases, COUNT(extended_cases), extended);
    failed += run_table("event 0", first_cases, COUNT(first_cases), first);
    failed += run_table("empty annotation", empty_cases, COUNT(empty_cases), empty);
    const struct path_rules newer = {
        .annotation = "ProfilerStep", .first_counts = true, .newer = true, .data_loading = "Loader"};
    failed += run_table("HTA 0.6", newer_cases, COUNT(newer_cases), newer);
    return failed + run_table("whole trace", whole_cases, COUNT(whole_cases), whole);
}
