/*
 * test_critical_path.c - tests the rules of the critical path, one small trace for each rule: first HTA's rules, then
 * the extended rules.
 */
#include "path_table.h"
#include "unit.h"

struct path_case {
    const char *name;
    const char *trace;
    const char *expected; /* a path; or the beginning of how it ended */
};

/* A step from 0 to 100 with one launch and its kernel: events 0, 1 and 2. */
#define BASE                                                                                                           \
    "user_annotation ProfilerStep#1 ts=0+100; cudaLaunchKernel ts=10+2 correlation=7; "                                \
    "kernel k stream=20 ts=15+5 correlation=7; "

static const struct path_case cases[] = {
    {"a launch and its kernel are a path", BASE SOME_OP, "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},

    /* ---- Columns and rows ---- */
    {"a field that no event has ends the reference", "cpu_op ProfilerStep#1 tid= ts=0+5",
     "crash: no event has the field tid"},
    {"so do traces without any args",
     "{'ph':'X','cat':'cpu_op','name':'ProfilerStep#1','pid':1,'tid':1,'ts':0,'dur':5}",
     "crash: no event has the field args"},
    {"one real start rounds starts up and ends down",
     STEP_1 "cudaLaunchKernel ts=10.5+2.5 correlation=7; kernel k stream=20 ts=15.25+5.5 correlation=7; " SOME_OP,
     "1s>1e O2 3s>3e O1 2s>2e O4 1s>2s L5 | 1s 2s 2e"},
    {"an event without a start rounds as well",
     STEP_1 "cudaLaunchKernel ts=10+2.5 correlation=7; kernel k stream=20 ts=15+5.75 correlation=7; "
            "{'ph':'M','name':'x'}; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a real duration alone rounds nothing",
     STEP_1 "cudaLaunchKernel ts=10+2.5 correlation=7; kernel k stream=20 ts=15+5.75 correlation=7; " SOME_OP,
     "1s>1e O2.5 3s>3e O1 2s>2e O5.75 1s>2s L5 | 1s 2s 2e"},
    {"rows without a duration or category and those of category Trace do not count, whatever their phase",
     BASE "cpu_op m ph=M ts=30+4; {'ph':'X','cat':'cpu_op','name':'n','pid':1,'tid':1,'ts':40}; "
          "{'ph':'X','name':'n','pid':1,'tid':1,'ts':40,'dur':2}; Trace t ts=40+2; "
          "{'cat':null,'name':'n','pid':1,'tid':1,'ts':40,'dur':2}; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O4 8s>8e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"times count from the first row that counts",
     "user_annotation ProfilerStep#1 ts=1000+100; cudaLaunchKernel ts=1010+2 correlation=7; "
     "kernel k stream=20 ts=1015+5 correlation=7; cpu_op o tid=9 ts=1001+1",
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a stream that is a string ends the reference",
     BASE "kernel k tid='20' stream='20' ts=30+5 correlation=8; " SOME_OP,
     "crash: event 3: its stream is not an integer"},
    {"so does a correlation that is a string", BASE "cpu_op a ts=40+2 correlation='7'; " SOME_OP,
     "crash: event 3: its correlation is not an integer"},

    /* ---- Links ---- */
    {"stream 0 is no stream to the reference",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=0 ts=15+5 correlation=7; " SOME_OP,
     "crash: no launch has a kernel"},
    {"correlation 0 links like any other",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=0; kernel k stream=20 ts=15+5 correlation=0; " SOME_OP,
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"correlation -1 links nothing",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=-1; kernel k stream=20 ts=15+5 correlation=-1; " SOME_OP,
     "crash: no launch has a kernel"},
    {"a link to event 0 counts as none",
     "kernel k stream=20 ts=15+5 correlation=7; " STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; " SOME_OP,
     "crash: no launch has a kernel"},
    {"of several calls of a correlation the last is linked, which the window then takes twice",
     BASE "cudaFuncGetAttributes ts=5+1 correlation=7; " SOME_OP,
     "empty: several calls have the correlation of event 2"},

    /* ---- Steps and window ---- */
    {"a step without a number ends the reference", BASE "user_annotation ProfilerStepX ts=0+1; " SOME_OP,
     "crash: the name \"ProfilerStepX\" has no step number"},
    {"white space may stand around the step's number sign", BASE "cpu_op 'ProfilerStep # 2' ts=90+1; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"of two steps the last is left out with its kernels",
     BASE "user_annotation ProfilerStep#2 ts=60+40; cudaLaunchKernel ts=60+2 correlation=8; "
          "kernel k stream=20 ts=64+5 correlation=8; cpu_op a ts=59+1; " SOME_OP,
     "1s>1e O2 1e>6s D0 6s>6e O1 7s>7e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"two steps that are on the GPU only keep nothing",
     "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
     "gpu_user_annotation ProfilerStep#1 stream=20 ts=0+50 correlation=1; "
     "gpu_user_annotation ProfilerStep#2 stream=20 ts=50+50 correlation=2; " SOME_OP,
     "crash: no event name contains \"ProfilerStep\""},
    {"one step name that occurs twice leaves nothing out",
     BASE "user_annotation ProfilerStep#1 ts=60+40; cpu_op a ts=70+4; " SOME_OP,
     "1s>1e O2 1e>4s D0 4s>4e O4 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"two calls with one correlation of a kept kernel end several steps",
     BASE "user_annotation ProfilerStep#2 ts=60+40; cudaFuncGetAttributes ts=5+1 correlation=7; " SOME_OP,
     "empty: several calls have the correlation of event 2"},
    {"no step at all ends the reference",
     "cpu_op a ts=0+9; cudaLaunchKernel ts=1+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; " SOME_OP,
     "crash: no event name contains \"ProfilerStep\""},
    {"both ends belong to the window, and only starts are looked at",
     "cpu_op before ts=0+30; user_annotation ProfilerStep#1 ts=5+95; cudaLaunchKernel ts=10+2 correlation=7; "
     "kernel k stream=20 ts=15+5 correlation=7; cpu_op first tid=2 ts=5+1; cpu_op last tid=2 ts=100+50; "
     "cpu_op later tid=2 ts=101+1; " SOME_OP,
     "2s>2e O2 4s>4e O1 4e>5s D0 5s>5e O50 3s>3e O5 2s>3s L5 | 4s 4e 5s 5e"},
    {"a row of no duration is not in the window", BASE "cpu_op a ts=40+0; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a kernel is in the window if its launch is, whenever it runs",
     BASE "cudaLaunchKernel ts=99+2 correlation=8; kernel k stream=20 ts=500+0 correlation=8; "
          "cudaLaunchKernel ts=101+2 correlation=9; kernel k stream=20 ts=50+5 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O0 2e>4s K480 | 1s 2s 2e 4s"},
    {"a window in which nothing happens has no path", "user_annotation ProfilerStep#1 ts=0+0; cpu_op a ts=10+1",
     "empty: no events in the window"},

    /* ---- Operators of the CPU ---- */
    {"operators nest, and follow each other on the top level",
     BASE "cpu_op a ts=20+20; cpu_op b ts=22+5; cpu_op c ts=30+5; cpu_op d ts=50+5; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>4s O2 4s>4e O5 4e>5s O3 5s>5e O5 5e>3e O5 3e>6s D0 6s>6e O5 7s>7e O1 2s>2e O5 1s>2s L5 | 1s "
     "1e 3s 4s 4e 5s 5e 3e 6s 6e"},
    {"threads go by pid and tid, numbers before strings",
     BASE "cpu_op s tid=x ts=20+1; cpu_op n tid=30 ts=20+2; cpu_op m tid=4 ts=20+3; "
          "cpu_op p pid=0 tid=99 ts=20+4; cpu_op q pid=a ts=20+5; " SOME_OP,
     "6s>6e O4 1s>1e O2 5s>5e O3 8s>8e O1 4s>4e O2 3s>3e O1 7s>7e O5 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"rows without a tid are in no thread",
     BASE "{'cat':'cpu_op','name':'n','pid':1,'ts':30,'dur':4,'args':{}}; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a thread with a row on a stream is none", BASE "cpu_op a pid=0 tid=20 ts=30+5; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"an end comes before a start at the same time", BASE "cpu_op a ts=20+10; cpu_op b ts=30+5; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O10 3e>4s D0 4s>4e O5 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 3e 4s 4e"},
    {"of starts at the same time the longer is outside, then the first",
     BASE "cpu_op b ts=20+5; cpu_op a ts=20+10; cpu_op c ts=20+5; " SOME_OP,
     "1s>1e O2 1e>4s D0 4s>3s O0 3s>5s O0 5s>5e O5 5e>3e O0 3e>4e O5 6s>6e O1 2s>2e O5 1s>2s L5 | 1s 1e 4s 3s 5s 5e 3e "
     "4e"},
    {"an end closes the innermost frame, whosever it is",
     BASE "cpu_op a ts=20+10; cpu_op b ts=25+10; cpu_op c ts=32+10; " SOME_OP,
     "empty: event 5 starts before event 4, which it depends on"},
    {"rows that are no operators are frames without nodes",
     BASE "python_function f ts=20+10; cpu_op a ts=22+5; " SOME_OP,
     "1s>1e O2 1e>4s D0 4s>4e O5 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"event 0 is no operator",
     "cpu_op a ts=1+5; " STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
     "kernel k stream=20 ts=15+5 correlation=7; " SOME_OP,
     "2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 2s 3s 3e"},
    {"a trace without operators ends the reference", BASE, "crash: no event has the category cpu_op"},
    {"and one without calls does as soon as a row is no operator",
     "other x ts=3+1; " STEP_1 "cpu_op a ts=10+5; " SOME_OP,
     "crash: no event has the category cuda_runtime: the GPU was not recorded"},
    {"and one whose launches have no kernels", STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; " SOME_OP,
     "crash: no launch has a kernel"},
    {"calls that wait take no time of the CPU",
     BASE "cpu_op a ts=20+30; cudaEventQuery ts=22+9 correlation=55; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>4s O2 4s>4e O0 4e>3e O19 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 4s 4e 3e"},
    {"a driver's call is an operator too", BASE "cuda_driver cuLaunchKernelEx ts=30+5 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O5 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a duration below 1 closes its frame before it opens", BASE "cpu_op a ts=20+0.5; cpu_op b ts=30+5; " SOME_OP,
     "empty: event 3 starts before event 4, which it depends on"},

    /* ---- Queues ---- */
    {"two launches of one correlation end the reference", BASE "cudaLaunchKernel ts=200+1 correlation=7; " SOME_OP,
     "crash: two launches have the correlation of event 3"},
    {"a launch whose partner is on no stream ends the reference",
     BASE "cudaLaunchKernel ts=30+5 correlation=8; "
          "cuda_sync 'Context Sync' pid=0 tid=0 ts=31+2 correlation=8; " SOME_OP,
     "crash: the launch at event 3 has no kernel on a stream"},
    {"two kernels of one launch have no queue length", BASE "kernel k stream=20 ts=30+5 correlation=7; " SOME_OP,
     "empty: several kernels have the correlation of event 1"},
    {"a kernel that finds another in its queue follows that one",
     BASE "cudaLaunchKernel ts=13+1 correlation=8; kernel k stream=20 ts=21+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K1 | 2s 2e 4s 4e"},
    {"at the same time a launch counts before a kernel",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "cudaLaunchKernel ts=15+2 correlation=8; kernel k stream=20 ts=25+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K5 | 2s 2e 4s 4e"},
    {"each stream has a queue of its own",
     BASE "cudaLaunchKernel ts=13+1 correlation=8; kernel k stream=21 ts=21+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L8 | 1s 1e 3s 4s 4e"},

    /* ---- Kernels ---- */
    {"a kernel on an idle stream follows its launch",
     BASE "cudaLaunchKernel ts=30+2 correlation=8; kernel k stream=20 ts=35+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"a kernel that was launched before the last one's end follows that one",
     BASE "cudaLaunchKernel ts=18+2 correlation=8; kernel k stream=20 ts=35+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K15 | 1s 2s 2e 4s 4e"},
    {"a launch that begins with the last kernel's end is not later",
     BASE "cudaLaunchKernel ts=20+2 correlation=8; kernel k stream=20 ts=35+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K15 | 1s 2s 2e 4s 4e"},
    {"names of HIP are unknown to the reference",
     STEP_1 "cuda_runtime hipLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "cpu_op a ts=1+2; " SOME_OP,
     "crash: no launch has a kernel"},
    {"a copy is launched by its call",
     BASE "cudaMemcpyAsync ts=30+9 correlation=8; "
          "gpu_memcpy 'Memcpy HtoD' stream=20 ts=35+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"a kernel that begins 1 before the last one's end overlaps by rounding",
     BASE "cudaLaunchKernel ts=12+2 correlation=8; kernel k stream=20 ts=19+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 4s>4e O5 2e>4s K0 | 2s 2e 4s 4e"},
    {"a kernel that begins 2 before the last one's end has no place",
     BASE "cudaLaunchKernel ts=12+2 correlation=8; kernel k stream=20 ts=18+5 correlation=8; " SOME_OP,
     "empty: event 4 starts before event 2, which it depends on"},
    {"a fraction below 0 stays",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5.5 correlation=7; "
            "cudaLaunchKernel ts=12+2 correlation=8; kernel k stream=20 ts=20+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5.5 4s>4e O5 2e>4s K-0.5 | 2s 2e 4s 4e"},

    /* ---- Synchronisation ---- */
    {"a stream's synchronisation waits for its last kernel",
     BASE "cudaStreamSynchronize ts=13+10 correlation=8; "
          "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 1s 2s 2e"},
    {"it stands where it ends in the order of time",
     BASE "cudaStreamSynchronize ts=1+10 correlation=8; "
          "cuda_sync 'Stream Sync' stream=20 ts=2+13 correlation=8; " SOME_OP,
     "3s>1s O9 1s>1e O2 1e>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 3s 1s 2s 2e"},
    {"a context's synchronisation waits for all streams",
     BASE "cudaLaunchKernel ts=13+1 correlation=9; kernel k stream=21 ts=16+9 correlation=9; "
          "cudaDeviceSynchronize ts=15+15 correlation=8; "
          "cuda_sync 'Context Sync' stream=-1 ts=16+13 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 2e>5e S0 4e>5e S0 | 1s "
     "1e 3s 4s 4e"},
    {"synchronisation of a stream without kernels waits for nothing",
     BASE "cudaStreamSynchronize ts=13+10 correlation=8; "
          "cuda_sync 'Stream Sync' stream=33 ts=14+7 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"synchronisation without a call in the window ends the reference",
     BASE "other cudaStreamSynchronize ts=13+10 correlation=8; "
          "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; " SOME_OP,
     "crash: the call of synchronization event 4 is not in the window"},
    {"synchronisation of an unknown kind ends the reference",
     BASE "cudaStreamSynchronize ts=13+10 correlation=8; "
          "cuda_sync 'Odd Sync' stream=20 ts=14+7 correlation=8; " SOME_OP,
     "crash: event 4 is an unknown kind of synchronization"},
    {"a repeated wait keeps its place",
     BASE "cudaDeviceSynchronize ts=13+17 correlation=8; "
          "cuda_sync 'Context Sync' stream=-1 ts=14+7 correlation=8; "
          "cuda_sync 'Context Sync' stream=-1 ts=14+8 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O0 6s>6e O1 2s>2e O5 1s>2s L5 2e>3e S0 | 1s 2s 2e"},

#define HELD "cudaLaunchKernel ts=18+1 correlation=8; kernel k stream=21 ts=26+5 correlation=8; "
    {"a stream wait holds up the next launch on its stream",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 2e>7s S0 | 1s "
     "2s 2e 7s 7e"},
    {"a launch at the time of the record is before it",
     STEP_1 "cudaLaunchKernel ts=13+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
            "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
            " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "1s>3s O0 3s>3e O1 3e>1e O1 1e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L2 7s>7e O5 2e>7s S0 | 1s "
     "2s 2e 7s 7e"},
    {"a launch at the time of the wait does not follow it",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cudaLaunchKernel ts=16+1 correlation=8; kernel k stream=21 ts=26+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>6s O0 6s>6e O1 6e>4e O0 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L10 | "
     "1s 1e 3s 3e 4s 6s 7s 7e"},
    {"a launch by another thread is not held up",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cudaLaunchKernel tid=2 ts=18+1 correlation=8; kernel k stream=21 ts=26+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 6s 7s 7e"},
    {"a record of another device's stream has no launch before it",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' pid=5 stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 1s "
     "1e 3s 3e 4s 4e 6s 7s 7e"},
    {"a wait for an event that was not recorded does nothing",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=99; " HELD SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 7s>7e O5 6s>7s L8 | 1s "
     "1e 3s 3e 4s 4e 6s 7s 7e"},
    {"waits for one record from two streams leave the reference at a loss",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cuda_sync 'Stream Wait Event' stream=22 ts=17+1 correlation=32 wait_on_stream=21"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "empty: events 5 and 6 wait for one record from different streams"},
    {"so do two records with one correlation",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaEventRecord ts=13+1 correlation=30; "
          "cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "empty: two records have the correlation of event 4"},
    {"a stream wait whose call is not linked leaves the reference at a loss",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=77; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "empty: no cudaStreamWaitEvent is linked to an event on a stream"},
    {"a stream wait without its call ends the reference",
     BASE "cudaEventRecord ts=13+1 correlation=30; cuda_runtime someWait ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "crash: event 5 waits for a CUDA event, but there is no cudaStreamWaitEvent"},
    {"a stream wait of another call ends the reference",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cuda_runtime someWait ts=20+1 correlation=41; "
          "cuda_sync 'Stream Wait Event' stream=22 ts=21+1 correlation=41 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD SOME_OP,
     "crash: event 7 waits for a CUDA event without a call of cudaStreamWaitEvent"},
    {"an event's synchronisation waits for the kernel behind the record",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaEventSynchronize ts=16+10 correlation=31; "
          "cuda_sync 'Event Sync' stream=-1 ts=17+8 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 6s>6e O1 2s>2e O5 1s>2s L5 2e>4e S0 | 1s 2s 2e"},
    {"it waits for nothing if that kernel has not begun",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaEventSynchronize ts=1+10 correlation=31; "
          "cuda_sync 'Event Sync' stream=-1 ts=2+3 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " SOME_OP,
     "4s>1s O9 1s>1e O2 1e>4e O0 4e>3s D0 3s>3e O1 6s>6e O1 2s>2e O5 1s>2s L5 | 4s 1s 2s 2e"},
    {"with event records a field that is no number leaves the reference at a loss",
     BASE
     "cudaEventRecord ts=13+1 correlation=30; cudaEventSynchronize ts=16+10 correlation=31; "
     "cuda_sync 'Event Sync' stream=-1 ts=17+8 correlation=31 wait_on_stream=20 wait_on_cuda_event_record_corr_id=30; "
     "cudaLaunchKernel ts=40+1 correlation=8; "
     "gpu_memcpy m stream=20 ts=45+5 correlation=8 'memory bandwidth (GB/s)'=N/A; " SOME_OP,
     "empty: event 7 has a field that is not a number, and the trace has event records"},
    {"a string of digits is a number to it",
     BASE
     "cudaEventRecord ts=13+1 correlation=30; cudaEventSynchronize ts=16+10 correlation=31; "
     "cuda_sync 'Event Sync' stream=-1 ts=17+8 correlation=31 wait_on_stream=20 wait_on_cuda_event_record_corr_id=30; "
     "cudaLaunchKernel ts=40+1 correlation=8; gpu_memcpy m stream=20 ts=45+5 correlation=8 bytes=' 1_2 '; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 2e>4e S0 7s>7e O5 "
     "6s>7s L5 | 1s 2s 2e 4e 6s 7s 7e"},
    {"without event records such fields do not matter",
     BASE "cudaLaunchKernel ts=40+1 correlation=8; "
          "gpu_memcpy m stream=20 ts=45+5 correlation=8 'memory bandwidth (GB/s)'=N/A; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 | 1s 1e 3s 4s 4e"},
    {"synchronisation between kernels of one stream is no path",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=20 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cudaLaunchKernel ts=18+1 correlation=8; kernel k stream=20 ts=26+5 correlation=8; " SOME_OP,
     "empty: event 7 depends on event 2 of its own stream"},

    /* ---- The longest path ---- */
    {"of ways of equal length the first that was added wins",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "cudaLaunchKernel ts=10+1 correlation=8; kernel k stream=21 ts=15+5 correlation=8; "
            "cudaDeviceSynchronize ts=15+15 correlation=9; "
            "cuda_sync 'Context Sync' stream=-1 ts=16+13 correlation=9; " SOME_OP,
     "1s>3s O0 3s>3e O1 3e>1e O1 1e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O5 3s>4s L5 2e>5e S0 4e>5e S0 | 1s "
     "2s 2e"},
    {"of ends at equal distance the first in the order of nodes wins",
     BASE "cpu_op a tid=3 ts=0+10; cpu_op b tid=2 ts=0+10; " SOME_OP,
     "1s>1e O2 4s>4e O10 3s>3e O10 5s>5e O1 2s>2e O5 1s>2s L5 | 4s 4e"},
    {"a path needs an edge that takes time",
     "user_annotation ProfilerStep#1 ts=0+9; cudaMemcpyAsync ts=2+2 correlation=7; "
     "kernel k stream=20 ts=2+0 correlation=7; cpu_op late ts=50+1",
     "crash: the critical path has no edge"},
};

static const struct path_case extended_cases[] = {
    {"stream 0 is a stream",
     STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; kernel k stream=0 ts=15+5 correlation=7; " SOME_OP,
     "1s>1e O2 3s>3e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"a stream in quotes is the same stream",
     BASE "cudaLaunchKernel ts=18+2 correlation=8; kernel k tid='20' stream='20' ts=25+5 correlation=8; "
          "cudaLaunchKernel ts=19+1 correlation=9; kernel k tid=main stream=main ts=25+5 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>5s O1 5s>5e O1 5e>3e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K5 6s>6e O5 5s>6s L6 | 1s "
     "2s 2e 4s 4e"},
    {"streams of two devices are two streams",
     BASE "cudaLaunchKernel ts=13+1 correlation=8; kernel k pid=1 stream=20 ts=16+9 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 | 1s 1e 3s 4s 4e"},
    {"a context's synchronisation waits for its own device",
     BASE "cudaLaunchKernel ts=13+1 correlation=8; kernel k pid=1 stream=20 ts=16+9 correlation=8; "
          "cudaDeviceSynchronize ts=15+15 correlation=9; "
          "cuda_sync 'Context Sync' stream=-1 ts=16+13 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>5s D0 5s>5e O0 7s>7e O1 2s>2e O5 1s>2s L5 4s>4e O9 3s>4s L3 2e>5e S0 | 1s 1e 3s 4s "
     "4e"},
    {"names of HIP launch, copy and wait",
     STEP_1 "cuda_runtime hipLaunchKernel ts=10+2 correlation=7; kernel k stream=1 ts=15+5 correlation=7; "
            "cuda_runtime hipMemcpyWithStream ts=30+9 correlation=8; kernel k stream=1 ts=35+3 correlation=8; "
            "cuda_runtime hipDeviceSynchronize ts=41+9 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O9 3e>5s D0 5s>5e O9 6s>6e O1 2s>2e O5 1s>2s L5 4s>4e O3 3s>4s L5 | 1s 1e 3s 3e 5s 5e"},
    {"a context's synchronisation waits for what ended before its call and those of later ones did",
     BASE "cudaLaunchKernel ts=13+1 correlation=8; kernel k stream=21 ts=17+20 correlation=8; "
          "cudaDeviceSynchronize tid=2 ts=15+30 correlation=9; "
          "cuda_sync 'Context Sync' stream=-1 ts=16+5 correlation=9; "
          "cudaDeviceSynchronize tid=3 ts=15+15 correlation=10; "
          "cuda_sync 'Context Sync' stream=-1 ts=16+13 correlation=10; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 5s>5e O0 7s>7e O0 9s>9e O1 2s>2e O5 1s>2s L5 4s>4e O20 3s>4s L4 2e>5e S0 2e>7e S0"
     " | 1s 1e 3s 4s 4e"},
    {"of several calls of a correlation the last is the launch",
     BASE "cudaFuncGetAttributes ts=5+1 correlation=7; cudaLaunchKernel ts=12+1 correlation=7; " SOME_OP,
     "3s>3e O1 3e>1s D0 1s>1e O2 1e>4s D0 4s>4e O1 5s>5e O1 2s>2e O5 4s>2s L3 | 3s 3e 1s 1e 4s 2s 2e"},
    {"one launch may have many kernels",
     STEP_1 "cudaGraphLaunch ts=10+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
            "kernel k stream=20 ts=21+5 correlation=7; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 3s>3e O5 2e>3s K1 | 1s 2s 2e 3s 3e"},
    {"a kernel without a launch follows the one before", BASE "kernel k stream=20 ts=30+5 correlation=8; " SOME_OP,
     "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 3s>3e O5 2e>3s K10 | 1s 2s 2e 3s 3e"},
    {"overlapping kernels of a stream lose no time",
     BASE "cudaLaunchKernel ts=12+2 correlation=8; kernel k stream=20 ts=17+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O2 5s>5e O1 2s>2e O5 1s>2s L5 4s>4e O5 2e>4s K0 | 1s 2s 2e 4s 4e"},
    {"event 0 is an operator like any other",
     "cpu_op a ts=1+5; " STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
     "kernel k stream=20 ts=15+5 correlation=7; " SOME_OP,
     "0s>0e O5 0e>2s D0 2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 0s 0e 2s 3s 3e"},
    {"a trace of the CPU alone has a path", STEP_1 "cpu_op a ts=10+5; other x ts=3+1", "1s>1e O5 | 1s 1e"},
    {"two streams may wait for one record",
     BASE "cudaEventRecord ts=13+1 correlation=30; cudaStreamWaitEvent ts=16+1 correlation=31; "
          "cuda_sync 'Stream Wait Event' stream=21 ts=17+1 correlation=31 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; " HELD "cudaStreamWaitEvent ts=19+1 correlation=32; "
          "cuda_sync 'Stream Wait Event' stream=22 ts=18+1 correlation=32 wait_on_stream=20"
          " wait_on_cuda_event_record_corr_id=30; "
          "cudaLaunchKernel ts=21+1 correlation=9; kernel k stream=22 ts=27+5 correlation=9; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O1 4e>6s D0 6s>6e O1 6e>8s D0 8s>8e O1 8e>10s D0 10s>10e O1 12s>12e O1 "
     "2s>2e O5 1s>2s L5 7s>7e O5 2e>7s S0 11s>11e O5 2e>11s S0 10s>11s L6 | 1s 1e 3s 3e 4s 4e 6s 6e 8s 8e 10s 11s 11e"},
    {"synchronisation without a call is passed over",
     BASE "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; "
          "cuda_sync 'Odd Sync' stream=20 ts=14+7 correlation=9; " SOME_OP,
     "1s>1e O2 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"fields that are no numbers do not matter if there are event records",
     BASE
     "cudaEventRecord ts=13+1 correlation=30; cudaEventSynchronize ts=16+10 correlation=31; "
     "cuda_sync 'Event Sync' stream=-1 ts=17+8 correlation=31 wait_on_stream=20 wait_on_cuda_event_record_corr_id=30; "
     "cudaLaunchKernel ts=40+1 correlation=8; "
     "gpu_memcpy m stream=20 ts=45+5 correlation=8 'memory bandwidth (GB/s)'=N/A; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O1 3e>4s D0 4s>4e O0 4e>6s D0 6s>6e O1 8s>8e O1 2s>2e O5 1s>2s L5 2e>4e S0 7s>7e O5 "
     "6s>7s L5 | 1s 2s 2e 4e 6s 7s 7e"},
    {"nothing waits for what ends later",
     BASE "cudaStreamSynchronize ts=13+2 correlation=8; "
          "cuda_sync 'Stream Sync' stream=20 ts=14+7 correlation=8; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O0 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
    {"the last step counts as the others do",
     BASE "user_annotation ProfilerStep#2 ts=60+40; cudaLaunchKernel ts=60+2 correlation=8; "
          "kernel k stream=20 ts=64+5 correlation=8; " SOME_OP,
     "1s>1e O2 1e>4s D0 4s>4e O2 6s>6e O1 2s>2e O5 1s>2s L5 5s>5e O5 4s>5s L4 | 1s 1e 4s 5s 5e"},
};

/* Without an annotation. */
static const struct path_case whole_cases[] = {
    {"without an annotation the whole trace is looked at",
     "cpu_op a ts=0+9; cudaLaunchKernel ts=1+2 correlation=7; kernel k stream=20 ts=15+5 correlation=7; "
     "cpu_op b ts=50+9",
     "0s>1s O1 1s>1e O2 1e>0e O6 0e>3s D0 3s>3e O9 2s>2e O5 1s>2s L14 | 0s 1s 2s 2e"},
};

/* Event 0 may be an operator, by the reference's rules. */
static const struct path_case first_cases[] = {
    {"event 0 may be an operator",
     "cpu_op a ts=1+5; " STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
     "kernel k stream=20 ts=15+5 correlation=7; " SOME_OP,
     "0s>0e O5 0e>2s D0 2s>2e O2 4s>4e O1 3s>3e O5 2s>3s L5 | 0s 0e 2s 3s 3e"},
};

/* With an annotation that is empty, by the reference's rules. */
static const struct path_case empty_cases[] = {
    {"an empty annotation is the whole trace",
     "cpu_op b ts=150+9; " STEP_1 "cudaLaunchKernel ts=10+2 correlation=7; "
     "kernel k stream=20 ts=15+5 correlation=7; cpu_op a ts=160+9; " SOME_OP,
     "2s>2e O2 2e>4s D0 4s>4e O9 5s>5e O1 3s>3e O5 2s>3s L5 | 2s 2e 4s 4e"},
};

/* Two launches whose kernels follow each other on a stream; the second begins at `ts`. */
#define TWO_KERNELS(ts)                                                                                                \
    "user_annotation ProfilerStep#1 ts=0+5000; cudaLaunchKernel ts=10+2 correlation=7; "                               \
    "kernel k stream=20 ts=15+5 correlation=7; cudaLaunchKernel ts=13+1 correlation=8; "                               \
    "kernel k stream=20 ts=" #ts "+5 correlation=8; " SOME_OP
#define TWO_LAUNCHES "1s>1e O2 3s>3e O1 1e>3s D0 5s>5e O1 2s>2e O5 4s>4e O5 "

/* HTA 0.6 classifies events with "Loader" in their names as data loading. */
static const struct path_case newer_cases[] = {
    {"calls that take the runtime's lock wait for the one that ends first",
     STEP_1 "cudaLaunchKernel ts=10+10 correlation=7; kernel k stream=20 ts=25+5 correlation=7; "
            "cudaMemcpyAsync tid=2 ts=12+4 correlation=8; " SOME_OP,
     "3s>3e O4 1s>3e D0 3e>1e D0 4s>4e O1 2s>2e O5 1s>2s L15 | 1s 2s 2e"},
    {"the backward thread goes on where the forward thread ended",
     BASE "user_annotation forward ts=5+20; cpu_op autograd::x tid=2 ts=40+10; " SOME_OP,
     "1s>1e O2 1e>4s D0 4s>4e O10 5s>5e O1 2s>2e O5 1s>2s L5 | 1s 1e 4s 4e"},
    {"unless there are two of them",
     BASE "user_annotation forward ts=5+20; cpu_op autograd::x tid=2 ts=40+10; "
          "cpu_op autograd::y tid=3 ts=40+10; " SOME_OP,
     "1s>1e O2 4s>4e O10 5s>5e O10 6s>6e O1 2s>2e O5 1s>2s L5 | 4s 4e"},
    {"a kernel hangs on the one before", TWO_KERNELS(1519), TWO_LAUNCHES "2e>4s K1499 | 2s 2e 4s 4e"},
    {"but not after 1.5 ms", TWO_KERNELS(1520), TWO_LAUNCHES "| 2s 2e"},
    {"weights below 0 are 0", TWO_KERNELS(17), TWO_LAUNCHES "2e>4s K0 | 2s 2e 4s 4e"},
    {"what loads data is an operator", BASE "user_annotation Loader.next ts=30+50; " SOME_OP,
     "1s>1e O2 1e>3s D0 3s>3e O50 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 1e 3s 3e"},
    {"a step has a number after its name, or it cuts nothing off",
     BASE "user_annotation 'my ProfilerStep' ts=9+1; " SOME_OP, "1s>1e O2 4s>4e O1 2s>2e O5 1s>2s L5 | 1s 2s 2e"},
};

/* The state of a test: a case and its rules. */
struct path_test {
    const struct path_case *of;
    struct path_rules rules;
};

static void follows_its_rule(void **state) {
    const struct path_test *test = *state;
    struct sutra_context *context = make_context();
    struct sutra_device_trace *trace = parse_trace(context, test->of->trace);
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
