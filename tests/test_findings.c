/*
 * test_findings.c - tests each rule and guard of the findings: a synthetic trace for which the rule must fire, and a
 * similar trace for which it must not.
 */
#include <math.h>

#include "analyze/overview/verdict.h"
#include "made_steps.h"
#include "overview_trace.h"

/* `alone`: no other rank's trace is analyzed. */
static void find_as(const char *text, bool alone, struct overview_findings *findings) {
    struct overviewed made;
    struct overview_steps steps;
    struct rank_verdict verdict;
    struct sutra_error error;
    overview_of(text, 1, &made);
    struct rank_collectives collectives = {0};
    assert_int_equal(overview_steps_make(&made.overview, NULL, &made.arena, &made.scratch, &steps, &error), SUTRA_OK);
    assert_int_equal(rank_collectives_read(made.context, &made.overview, 0, &collectives, &error), SUTRA_OK);
    assert_int_equal(find_findings(made.context, &made.model, &made.overview, &steps, &collectives.calls, alone,
                                   &made.arena, &made.scratch, &verdict, &error),
                     SUTRA_OK);
    *findings = (struct overview_findings){.n = verdict.n_findings, .n_all = verdict.n_findings};
    memcpy(findings->list, verdict.findings, verdict.n_findings * sizeof *verdict.findings);
    rank_verdict_free(&verdict);
    collective_calls_free(&collectives.calls);
    overview_forget(&made);
}

static void find(const char *text, struct overview_findings *findings) {
    find_as(text, true, findings);
}

static const struct overview_finding *finding_of(const struct overview_findings *findings,
                                                 const struct finding_rule *rule) {
    return finding_of_rule(findings->list, findings->n, rule);
}

/* ---- Traces, in which the rule fires or not ---- */

/* Ten operators that keep the GPU busy. */
static void busy_part(struct made_trace *made) {
    for (int i = 0; i < 10; i++)
        launch_by(made, "aten::mm", "", 20, "gemm", 100);
}

static void made_startup(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        if (step == 1 || !fires)
            call(made, "cudaMalloc", fires ? 9000 : 20);
        if (step == 2 && fires)
            call(made, "cuModuleLoadData", 1000);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* An operation that recurs in every step is not start-up. */
static void made_allocation(struct made_trace *made, bool fires) {
    for (int step = 0; step < 4; step++) {
        step_begin(made);
        busy_part(made);
        wait_for_device(made, "cudaDeviceSynchronize");
        if (fires || step == 0)
            call(made, "cudaFree", 500);
        step_end(made);
    }
}

/* The time before the first kernel is excluded and does not suppress other findings. */
static void made_startup_first(struct made_trace *made, bool fires) {
    step_begin(made);
    call(made, "cudaFree", 50000);
    if (fires) { /* a second allocation, after a kernel */
        launch(made, "k", 100);
        made->now = made->free_at + 10;
        call(made, "cudaMalloc", 50000);
    }
    for (int i = 0; i < 20; i++)
        launch(made, "k", 100);
    made->now = made->free_at;
    step_end(made);
}

static void made_no_kernels(struct made_trace *made, bool fires) {
    for (int i = 0; i < 20; i++)
        call(made, "cudaLaunchKernel", CALL_US);
    if (!fires)
        launch(made, "k", 100);
}

static void made_trace_edge(struct made_trace *made, bool fires) {
    call(made, "cudaLaunchKernel", CALL_US);
    made->free_at = fires ? 3000 : 0; /* GPU work that the trace does not record */
    queue(made, "kernel", "k", 100);
    for (int i = 0; i < 100; i++)
        launch(made, "k", 100);
    wait_for_device(made, "cudaDeviceSynchronize");
}

static void made_unrecorded_graph(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        call(made, "cudaGraphLaunch", 20);
        long begin = made->free_at + (fires ? 500 : 2); /* kernels before this one are not recorded */
        work(made, "kernel", "last_of_graph", 7, begin, 100);
        made->free_at = begin + 100;
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void made_device_side(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        made->free_at += fires ? 800 : 10; /* GPU work of another process */
        busy_part(made);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* A long synchronizing call without recorded GPU activity is not a synchronization finding. */
static void made_unrecorded_wait(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        made->now = made->free_at;
        call(made, "cudaDeviceSynchronize", fires ? 900 : 20);
        step_end(made);
    }
}

#define LOADER(kind) "enumerate(DataLoader)#_" kind "DataLoaderIter.__next__"

static void load(struct made_trace *made, const char *name, long us) {
    long since = made->now;
    host(made, "aten::stack", us);
    around(made, "user_annotation", name, since, "");
}

/* Time in the loader counts only while the GPU is idle. */
static void made_data_loading(struct made_trace *made, bool fires) {
    busy_part(made);
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        if (fires)
            wait_for_device(made, "cudaDeviceSynchronize");
        load(made, LOADER("SingleProcess"), 600);
        busy_part(made);
        step_end(made);
    }
}

/* Without steps, the first batch (which starts the workers) is not representative. */
static void made_loading_without_steps(struct made_trace *made, bool fires) {
    for (int step = 0; step < 4; step++) {
        wait_for_device(made, "cudaDeviceSynchronize");
        load(made, LOADER("MultiProcessing"), step == 0 || fires ? 600 : 5);
        busy_part(made);
    }
}

static void made_cpu_preprocessing(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        wait_for_device(made, "cudaStreamSynchronize");
        call(made, "cudaLaunchKernel", CALL_US);
        queue(made, "kernel", "k", 1);
        made->now += 10;
        for (int i = 0; i < 20; i++) { /* without launches, or with a launch after each */
            host(made, "resize_images", 1000);
            if (!fires)
                launch(made, "small", 10);
        }
        busy_part(made);
        step_end(made);
    }
}

/* In one step of several, without host events. */
static void made_gap_without_host_events(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        wait_for_device(made, "cudaStreamSynchronize");
        launch(made, "k", 2);
        made->now += step == 1 ? fires ? 9000 : 2000 : 10;
        busy_part(made);
        step_end(made);
    }
}

static void made_host_bound(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 50; i++) /* equal kernels; slow launches let the queue run empty */
            launch_by(made, "aten::add", "", fires ? 60 : 8, "elementwise_kernel", 9);
        step_end(made);
    }
}

/* The host causes more idle time than the device: both are reported. */
static void made_host_and_device(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 50; i++) /* spread over operators, so that no unit has half of the time */
            launch_by(made, i % 3 ? i % 3 == 1 ? "aten::add" : "aten::mul" : "aten::sub", "", 60, "k", 9);
        made->free_at += fires ? 1500 : 4000; /* GPU work of another process */
        busy_part(made);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* An operator that usually takes 2 us takes 2 ms; operators whose time depends on sizes do not stall. */
static void made_host_stall(struct made_trace *made, bool fires) {
    const char *name = fires ? "aten::view" : "aten::copy_";
    for (int step = 0; step < 4; step++) {
        step_begin(made);
        for (int i = 0; i < 20; i++) {
            host(made, name, i == 10 ? 2000 : 2);
            launch_by(made, "aten::mm", "", 20, "gemm", 100);
        }
        step_end(made);
    }
}

/* Two stalls are chance. */
static void made_few_stalls(struct made_trace *made, bool fires) {
    for (int step = 0; step < (fires ? 3 : 2); step++) {
        step_begin(made);
        for (int i = 0; i < 20; i++) {
            host(made, "aten::view", i == 10 ? 2000 : 2);
            launch_by(made, "aten::mm", "", 20, "gemm", 100);
        }
        step_end(made);
    }
}

/* Gaps of one function in all steps are one cause, though each is short against the window. */
static void made_gaps_of_a_function(struct made_trace *made, bool fires) {
    for (int step = 0; step < 6; step++) {
        step_begin(made);
        made->now = made->free_at > made->now ? made->free_at : made->now;
        host(made, fires || step == 0 ? "aten::randn" : "aten::empty", fires || step == 0 ? 2000 : 5);
        for (int i = 0; i < 80; i++)
            launch_by(made, "aten::mm", "", 20, "gemm", 100);
        step_end(made);
    }
}

/* The queue is mostly full and the host often waits, so launches are not too slow in general. */
static void made_host_gaps(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        for (int i = 0; i < 2; i++) {
            made->now = made->free_at;
            host(made, "aten::index", fires ? 200 : 20);
            busy_part(made);
        }
        wait_for_device(made, "cudaStreamSynchronize");
        step_end(made);
    }
}

/* The first Triton kernel follows its compilation; the same gap before any other kernel has another cause. */
static void made_first_call(struct made_trace *made, bool fires) {
    busy_part(made);
    made->now = made->free_at + 500000;
    launch(made, fires ? "triton_poi_fused_0" : "k", 20);
    busy_part(made);
}

/* With most GPU work after the first call, the window begins there. */
static void made_first_call_before_work(struct made_trace *made, bool fires) {
    launch(made, "k", 20);
    made->now += 100000;
    launch(made, fires ? "ampere_sgemm_32x32_sliced1x4_tn" : "k", 20);
    for (int i = 0; i < 10; i++)
        busy_part(made);
}

static void made_eval_mode_missing(struct made_trace *made, bool fires) {
    for (int i = 0; i < 6; i++) {
        host(made, fires ? "aten::add_" : "aten::relu", 10);
        launch_by(made, "aten::batch_norm", "", 20, "bn_fw_tr_1C11", 100);
        launch_by(made, "aten::conv2d", "", 20, "implicit_convolve", 100);
    }
}

/* Launches of graphs do not count, only launches of single kernels. */
static void made_graphs(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 5; i++) {
            host(made, "prepare", 300);
            call(made, "cudaGraphLaunch", 20);
            for (int k = 0; k < 20; k++)
                queue(made, "kernel", "k", 10);
            if (fires)
                for (int k = 0; k < 30; k++)
                    launch_by(made, "aten::add", "", 60, "k", 9);
            else
                made->now = made->free_at;
        }
        step_end(made);
    }
}

static void optimize(struct made_trace *made, int n, long host_us) {
    long since = made->now;
    for (int i = 0; i < n; i++)
        launch_by(made, "aten::add_", "", host_us, "add", 2);
    around(made, "user_annotation", "Optimizer.step#SGD.step", since, "");
}

static void made_small_kernels_optimizer(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 40; i++)
            launch_by(made, "aten::mm", "", 20, "gemm", 400);
        if (fires)
            made->now = made->free_at;
        optimize(made, fires ? 300 : 100, 20);
        step_end(made);
    }
}

/* As many kernels in each step of a trace without profiler steps. */
static void made_optimizer_without_steps(struct made_trace *made, bool fires) {
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 10; i++)
            launch_by(made, "aten::mm", "", 20, "gemm", 400);
        made->now = made->free_at;
        optimize(made, fires ? 300 : 5, 20); /* few kernels, and little idle time */
    }
}

static void communicate(struct made_trace *made, long us, bool overlaps) {
    call(made, "cudaLaunchKernel", CALL_US);
    if (overlaps)
        work(made, "kernel", "ncclDevKernel_AllReduce_Sum", 20, made->free_at, us);
    else
        queue(made, "kernel", "ncclDevKernel_AllReduce_Sum", us);
}

static void made_exposed_comm(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        communicate(made, 900, !fires);
        busy_part(made);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* A kernel with a recorded size. */
static void all_reduce(struct made_trace *made, long us, int n_elements, const char *type) {
    call(made, "cudaLaunchKernel", CALL_US);
    event(made,
          "\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":%ld,\"dur\":%ld,"
          "\"args\":{\"correlation\":%d,\"Collective name\":\"allreduce\",\"In msg nelems\":%d,"
          "\"Out msg nelems\":%d,\"dtype\":\"%s\",\"Group size\":8}",
          made->free_at, us, made->n_calls, n_elements, n_elements, type);
    made->free_at += us;
}

static void made_slow_collective(struct made_trace *made, bool fires) {
    made->head = H100;
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        all_reduce(made, fires ? 9000 : 900, 25000000, "BFloat16");
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* All-reduces: one waits for a straggler, or is larger than the others. */
static void made_straggler(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        all_reduce(made, step == 1 ? 900 : 300, step == 1 && !fires ? 3000 : 1000, "Float");
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* Sends and receives without a recorded size; their operator records the size. */
static void made_straggler_without_size(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        long since = made->now;
        call(made, "cudaLaunchKernel", CALL_US);
        queue(made, "kernel", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", step == 1 ? 900 : 300);
        made->now++;
        around(made, "user_annotation", fires ? "nccl:all_to_all" : "nccl:recv 1<-0", since, "");
        made->now++;
        around(made, "cpu_op", "record_param_comms", since, "\"Input Dims\":[[64],[]],\"Input type\":[\"float\",\"\"]");
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void copy_in(struct made_trace *made, const char *name, long us, bool overlaps) {
    call(made, "cudaMemcpyAsync", overlaps ? CALL_US : us + CALL_US);
    if (overlaps) {
        work(made, "gpu_memcpy", name, 9, made->free_at, us);
    } else {
        long begin = made->now - us > made->free_at ? made->now - us : made->free_at;
        work(made, "gpu_memcpy", name, 7, begin, us);
        made->free_at = begin + us;
    }
}

/* The same amount from pinned memory, overlapped with kernels, is no finding. */
static void made_copies(struct made_trace *made, bool fires) {
    for (int step = 0; step < 4; step++) {
        long since = made->now;
        step_begin(made);
        copy_in(made, fires ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)", 400, !fires);
        around(made, "cpu_op", "aten::copy_", since, "");
        busy_part(made);
        step_end(made);
    }
}

/* A loss is read after each of many small kernels, or once at the end. */
static void made_sync(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 20; i++) {
            launch_by(made, "aten::mm", "", 30, "gemm", 200);
            long since = made->now;
            if (fires) {
                call(made, "cudaMemcpyAsync", CALL_US);
                queue(made, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 2);
                wait_for_device(made, "cudaStreamSynchronize");
                around(made, "cpu_op", "aten::_local_scalar_dense", since, "");
                made->now++;
                around(made, "cpu_op", "aten::item", since, "");
                host(made, "python", 30);
            }
        }
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void made_fp32(struct made_trace *made, bool fires) {
    static const char *const fp32[] = {
        "ampere_sgemm_128x64_nn",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4_alignc4_execute_cublas",
        "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x128x8_cudnn"};
    static const char *const tf32[] = {"sm80_xmma_gemm_tf32f32_sgemm_tf32",
                                       "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cgasize1x1x1_cublas",
                                       "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_cudnn"};
    made->head = H100;
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 10; i++)
            launch_by(made, "aten::mm", "", 10, fires ? fp32[i % 3] : tf32[i % 3], 100);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* The CPU never waits for the GPU: faster kernels save nothing. */
static void made_fp32_of_host(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 10; i++)
            launch_by(made, "aten::mm", "", 110, "volta_sgemm_128x64_nn", 60);
        if (fires)
            for (int i = 0; i < 40; i++)
                launch_by(made, "aten::mm", "", 10, "volta_sgemm_128x64_nn", 100);
        wait_for_device(made, fires ? "cudaDeviceSynchronize" : "cudaEventRecord");
        step_end(made);
    }
}

#define SHAPES(a, b) "\"Input Dims\":[" a "," b "],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]"

static void made_unfused_attention(struct made_trace *made, bool fires) {
    made->head = H100;
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 5; i++) {
            launch_by(made, "aten::bmm",
                      fires ? SHAPES("[16,2048,64]", "[16,64,2048]") : SHAPES("[16,128,64]", "[16,64,128]"), 10, "bmm",
                      200);
            launch_by(made, "aten::_softmax", "", 10, "softmax", 300);
        }
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void made_elementwise_fusion(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 10; i++) {
            launch_by(made, "aten::mm", "", 10, "gemm", 100);
            launch_by(made, "aten::mul", "", 10,
                      fires ? "void at::native::vectorized_elementwise_kernel<4>" : "triton_poi_fused_elementwise",
                      100);
        }
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void made_layout(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        busy_part(made);
        launch_by(made, "aten::conv2d", "", 10, "nchwToNhwcKernel", fires ? 150 : 10);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

static void made_ddp_buffers(struct made_trace *made, bool fires) {
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        wait_for_device(made, "cudaStreamSynchronize");
        launch(made, "k", 2);
        long since = made->now;
        host(made, "aten::unflatten_dense_tensors", 300);
        made->now++;
        around(made, "user_annotation", fires ? "DistributedDataParallel.forward" : "MyModel.forward", since, "");
        busy_part(made);
        step_end(made);
    }
}

static void made_gemm_bound(struct made_trace *made, bool fires) {
    made->head = H100;
    for (int step = 0; step < 3; step++) {
        step_begin(made);
        for (int i = 0; i < 10; i++)
            launch_by(made, "aten::mm", SHAPES("[4096,4096]", "[4096,4096]"), 10, "gemm", fires ? 300 : 3);
        wait_for_device(made, "cudaDeviceSynchronize");
        step_end(made);
    }
}

/* ---- The table ---- */

struct finding_case {
    const struct finding_rule *rule;
    void (*make)(struct made_trace *made, bool fires);
    const char *words;  /* in the text of the finding */
    double least, most; /* saving in percent; both 0: none is claimed */
};

static const struct finding_case cases[] = {
    {&rule_no_kernels, made_no_kernels, "20 launch calls, no kernel", 0, 0},
    {&rule_startup, made_startup, "of it in cudaMalloc", 60, 80},
    {&rule_startup, made_startup_first, "Profile after a warm-up", 90, 99},
    {&rule_allocation, made_allocation, "in cudaFree. Keep memory in the caching allocator", 20, 35},
    {&rule_trace_edge, made_trace_edge, "first 3.00 ms", 0, 0},
    {&rule_unrecorded_graph, made_unrecorded_graph, "not recorded", 0, 0},
    {&rule_device_side, made_device_side, "not caused by the CPU", 0, 0},
    {&rule_device_side, made_unrecorded_wait, "the trace may lack their work", 0, 0},
    {&rule_data_loading, made_data_loading, "num_workers=4", 30, 45},
    {&rule_data_loading, made_loading_without_steps, "The workers are too slow", 20, 35},
    {&rule_cpu_preprocessing, made_cpu_preprocessing, "in 3 gaps, longest", 85, 99},
    {&rule_cpu_preprocessing, made_gap_without_host_events, "of 3 steps", 50, 90},
    {&rule_cpu_preprocessing, made_gap_without_host_events, "in 1 gap. The trace does not record the code", 50, 90},
    {&rule_host_bound, made_host_bound, "100.0% of 50 launches", 75, 95},
    {&rule_host_bound, made_graphs, "run in graphs", 50, 90},
    {&rule_host_bound, made_host_and_device, "launches", 25, 60},
    {&rule_host_stall, made_host_stall, "up to 2.00 ms inside operators that normally take microseconds, 4 times", 20,
     30},
    {&rule_host_stall, made_few_stalls, "3 times", 20, 30},
    {&rule_cpu_preprocessing, made_gaps_of_a_function, "Move aten::randn to worker processes", 15, 25},
    {&rule_host_gaps, made_host_gaps, "in aten::index (6 gaps)", 9, 20},
    {&rule_startup, made_first_call, "First calls take 500 ms", 0, 0},
    {&rule_startup, made_first_call_before_work, "The window begins after them", 0, 0},
    {&rule_eval_mode_missing, made_eval_mode_missing, "6 of 6 batch norms", 0, 0},
    {&rule_small_kernels_optimizer, made_small_kernels_optimizer, "300 kernels per step", 20, 30},
    {&rule_small_kernels_optimizer, made_optimizer_without_steps, "300 kernels per step", 45, 65},
    {&rule_exposed_comm, made_exposed_comm, "almost none overlaps", 28, 33},
    {&rule_straggler, made_straggler, "1 collective takes 200 us of each", 10, 15},
    {&rule_straggler, made_straggler_without_size, "900 us instead of 300 us", 10, 15},
    {&rule_slow_collective, made_slow_collective, "9.7 of 450 GB/s", 80, 90},
    {&rule_copies, made_copies, "pin_memory=True", 20, 35},
    {&rule_sync, made_sync, "mostly in aten::item, 20 per step", 10, 25},
    {&rule_fp32, made_fp32, "100.0% of GPU time", 45, 50},
    {&rule_fp32, made_fp32_of_host, "volta_sgemm_128x64_nn", 30, 50},
    {&rule_unfused_attention, made_unfused_attention, "Fused, their 85.9 GFLOP", 80, 100},
    {&rule_elementwise_fusion, made_elementwise_fusion, "50.0% of GPU time", 25, 31},
    {&rule_layout, made_layout, "channels_last", 11, 14},
    {&rule_ddp_buffers, made_ddp_buffers, "broadcast_buffers=False", 18, 25},
    {&rule_gemm_bound, made_gemm_bound, "aten::mm", 0, 0},
};

static struct overview_findings found_in(const struct finding_case *rule_case, bool fires) {
    struct made_trace made = {0};
    struct overview_findings findings;
    rule_case->make(&made, fires);
    char *text = made_text(&made);
    find(text, &findings);
    free(text);
    return findings;
}

#define TEXT_MOST 2000

static void print_findings(const struct overview_findings *findings) {
    for (unsigned i = 0; i < findings->n; i++) {
        char text[TEXT_MOST];
        finding_text(&findings->list[i], text, sizeof text);
        print_error("  %s %.1f: %s\n", findings->list[i].rule->name, findings->list[i].saving_percent, text);
    }
}

static void every_rule_reports_its_positive_case(void **state) {
    size_t n_right = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct finding_case *rule_case = &cases[i];
        struct overview_findings findings = found_in(rule_case, true);
        const struct overview_finding *finding = finding_of(&findings, rule_case->rule);
        bool claims = rule_case->most > 0;
        char text[TEXT_MOST] = "";
        if (finding)
            finding_text(finding, text, sizeof text);
        bool right =
            finding && strstr(text, rule_case->words) && isnan(finding->saving_percent) == !claims &&
            (!claims || (finding->saving_percent >= rule_case->least && finding->saving_percent <= rule_case->most));
        if (!right) {
            print_error("case %zu, %s:\n", i, rule_case->rule->name);
            print_findings(&findings);
        }
        n_right += right && finding->n_numbers > 0 && strlen(finding->seen) < FINDING_SEEN - 1;
    }
    assert_int_equal(n_right, sizeof cases / sizeof *cases);
}

static void no_rule_reports_its_negative_case(void **state) {
    size_t n_right = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct overview_findings findings = found_in(&cases[i], false);
        if (finding_of(&findings, cases[i].rule)) {
            print_error("case %zu, %s:\n", i, cases[i].rule->name);
            print_findings(&findings);
        }
        n_right += finding_of(&findings, cases[i].rule) == NULL;
    }
    assert_int_equal(n_right, sizeof cases / sizeof *cases);
}

/* With the traces of other ranks, the job has the finding. */
static void one_rank_alone_reports_no_straggler(void **state) {
    struct made_trace made = {0};
    struct overview_findings findings;
    made_straggler(&made, true);
    char *text = made_text(&made);
    find_as(text, false, &findings);
    free(text);
    assert_null(finding_of(&findings, &rule_straggler));
    assert_non_null(finding_of(&findings, &rule_exposed_comm));
}

/* One synchronizing call in two steps. */
static void rare_waits_are_not_rounded_to_0(void **state) {
    struct made_trace made = {0};
    struct overview_findings findings;
    for (int step = 0; step < 2; step++) {
        step_begin(&made);
        busy_part(&made);
        if (step == 1) {
            wait_for_device(&made, "cudaStreamSynchronize");
            host(&made, "python", 300);
        }
        busy_part(&made);
        step_end(&made);
    }
    char *text = made_text(&made);
    find(text, &findings);
    free(text);
    const struct overview_finding *finding = finding_of(&findings, &rule_sync);
    assert_non_null(finding);
    assert_string_equal(finding->now, "0.5");
}

static void every_rule_has_a_case(void **state) {
    for (uint32_t rule = 0; rule < n_finding_rules; rule++) {
        bool found = false;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            found |= cases[i].rule == finding_rules[rule];
        assert_true(found);
    }
}

/* ---- Completeness ---- */

#define PAGE "docs/findings.md"

/* The first hole of a rule; NULL: it is complete. `guards` and `rules` are the sections of the page. */
static const char *hole_of(const struct finding_rule *rule, const char *page, const char *guards, const char *rules) {
    char row[100], situation[100];
    bool claims = false, always = rule == &rule_no_kernels; /* its evidence names the remedies of other causes */
    unsigned n_equal = 0;
    if (!rule->name || !*rule->name || rule->name[strspn(rule->name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return "name";
    for (uint32_t i = 0; i < n_finding_rules; i++)
        n_equal += strcmp(finding_rules[i]->name, rule->name) == 0;
    if (n_equal != 1)
        return "name of its own";
    if (!rule->title || !*rule->title || (rule->title_if.fact && !rule->title_if.title))
        return "title";
    if (!rule->metric || !rule->after)
        return "metric";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        claims |= strcmp(cases[i].rule->name, rule->name) == 0 && cases[i].most > 0;
    if (claims && rule->find && !rule->fix)
        return "fix";
    if (rule->suspect.name && !(rule->suspect.text && rule->suspect.measure && rule->suspect.min_apparent > 0))
        return "suspect";
    snprintf(row, sizeof row, "\n| `%s`", rule->name);
    const char *found = strstr(rule->find ? rules : guards, row);
    if (!found || (!rule->find && found > rules))
        return "row in the section 'Guards' or 'Rules' of " PAGE;
    for (int i = 0; i < REMEDIES_MOST && rule->remedies[i].lines[0].text; i++) {
        const struct remedy *remedy = &rule->remedies[i];
        always |= !remedy->needs && !remedy->excludes;
        snprintf(situation, sizeof situation, "`%s`", remedy->situation ? remedy->situation : rule->name);
        if (!strstr(page, situation))
            return "situation in " PAGE;
    }
    return always ? NULL : "remedy without conditions";
}

static void every_rule_is_complete(void **state) {
    char *page = file_text(PAGE, NULL);
    const char *guards = strstr(page, "\n## Guards\n"), *rules = strstr(page, "\n## Rules\n");
    size_t n_complete = 0;
    assert_true(guards && rules && guards < rules);
    for (uint32_t i = 0; i < n_finding_rules; i++) {
        const char *hole = hole_of(finding_rules[i], page, guards, rules);
        if (hole)
            print_error("rule %s: no %s\n", finding_rules[i]->name, hole);
        n_complete += !hole;
    }
    assert_int_equal(n_complete, n_finding_rules);

    free(page);
}

/* A rule without a fitting remedy has no text of another rule. */
static void incomplete_rules_are_reported(void **state) {
    char *page = file_text(PAGE, NULL), text[TEXT_MOST];
    const char *guards = strstr(page, "\n## Guards\n"), *rules = strstr(page, "\n## Rules\n");
    struct finding_rule holed[7];
    static const char *const holes[] = {"name",
                                        "title",
                                        "metric",
                                        "fix",
                                        "remedy without conditions",
                                        "row in the section 'Guards' or 'Rules' of " PAGE,
                                        "situation in " PAGE};
    const struct overview_finding finding = {.rule = &holed[4], .seen = "Seen."};
    for (int i = 0; i < 7; i++)
        holed[i] = rule_layout;
    holed[0].name = "Layout";
    holed[1].title = NULL;
    holed[2].metric = NULL;
    holed[3].fix = NULL;
    holed[4].remedies[0].needs = FACT_NAMED;
    holed[5].find = NULL; /* a guard in the section of rules */
    holed[6].remedies[0].situation = "undocumented";
    for (int i = 0; i < 7; i++)
        assert_string_equal(hole_of(&holed[i], page, guards, rules), holes[i]);
    finding_text(&finding, text, sizeof text);
    assert_string_equal(text, "Layout conversion (NCHW/NHWC): Seen.");
    free(page);
}

/* ---- Order ---- */

static void add(struct overview_findings *findings, const struct finding_rule *rule, double saving_percent) {
    findings->list[findings->n_all++] = (struct overview_finding){.rule = rule, .saving_percent = saving_percent};
}

static void findings_are_sorted_by_saving(void **state) {
    struct overview_findings findings = {.n = 0};
    add(&findings, &rule_gemm_bound, (double)NAN);
    add(&findings, &rule_layout, 2);
    add(&findings, &rule_copies, 2.9);
    add(&findings, &rule_exposed_comm, 10);
    add(&findings, &rule_host_bound, 30);
    sort_findings(&findings, 80);
    assert_int_equal(findings.n, 4);
    assert_ptr_equal(findings.list[0].rule, &rule_host_bound);
    assert_ptr_equal(findings.list[1].rule, &rule_exposed_comm);
    assert_ptr_equal(findings.list[2].rule, &rule_layout);
    assert_ptr_equal(findings.list[3].rule, &rule_gemm_bound);
}

static void kernel_findings_follow_large_idle_time(void **state) {
    for (int busy = 50; busy <= 70; busy += 20) {
        struct overview_findings findings = {.n = 0};
        add(&findings, &rule_fp32, 30);
        add(&findings, &rule_exposed_comm, 20);
        add(&findings, &rule_data_loading, 25);
        sort_findings(&findings, busy);
        assert_ptr_equal(findings.list[0].rule, busy < 60 ? &rule_data_loading : &rule_fp32);
        assert_ptr_equal(findings.list[1].rule, busy < 60 ? &rule_fp32 : &rule_data_loading);
        assert_ptr_equal(findings.list[2].rule, &rule_exposed_comm);
    }
}

static void at_most_five_findings_are_shown(void **state) {
    struct overview_findings findings = {.n = 0};
    const uint32_t first = finding_rule_number(&rule_data_loading);
    for (uint32_t rule = first; rule < first + 8; rule++)
        add(&findings, finding_rules[rule], 10 + rule);
    sort_findings(&findings, 80);
    assert_int_equal(findings.n, FINDINGS_MOST);
    assert_ptr_equal(findings.list[4].rule, finding_rules[first + 3]);
}

static void a_trace_without_activity_reports_the_cause_alone(void **state) {
    static const char *const texts[] = {"", "user_annotation ProfilerStep#1 ts=0+1000",
                                        "kernel k stream=7 ts=5+0 correlation=1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct overview_findings findings;
        find(texts[i], &findings);
        assert_int_equal(findings.n, i < 2);
        if (i < 2)
            assert_ptr_equal(findings.list[0].rule, &rule_no_kernels);
    }
}

/* Without the kernels of ten launches at the start of the trace, the window begins at the first launch with a kernel. */
static void window_begins_after_dropped_activities(void **state) {
    for (int n_lost = 9; n_lost <= 10; n_lost++) {
        struct made_trace made = {0};
        struct overviewed of;
        struct overview_steps steps;
        struct rank_verdict verdict;
        struct collective_calls calls = {0};
        struct sutra_error error;
        for (int i = 0; i < n_lost; i++)
            call(&made, "cudaLaunchKernel", 10);
        made.now = 5000;
        for (int i = 0; i < 20; i++)
            launch(&made, "k", 100);
        char *text = made_text(&made);
        overview_of(text, 1, &of);
        assert_int_equal(of.overview.device.n_launches, 20 + n_lost);
        assert_int_equal(of.overview.device.n_lost, n_lost);
        int64_t from = of.overview.window.from;
        assert_int_equal(overview_steps_make(&of.overview, NULL, &of.arena, &of.scratch, &steps, &error), SUTRA_OK);
        assert_int_equal(find_findings(of.context, &of.model, &of.overview, &steps, &calls, true, &of.arena,
                                       &of.scratch, &verdict, &error),
                         SUTRA_OK);
        assert_int_equal(of.overview.window.from, n_lost < 10 ? from : of.overview.device.first_kept);
        rank_verdict_free(&verdict);
        overview_forget(&of);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_reports_its_positive_case),
        cmocka_unit_test(no_rule_reports_its_negative_case),
        cmocka_unit_test(one_rank_alone_reports_no_straggler),
        cmocka_unit_test(rare_waits_are_not_rounded_to_0),
        cmocka_unit_test(every_rule_has_a_case),
        cmocka_unit_test(every_rule_is_complete),
        cmocka_unit_test(incomplete_rules_are_reported),
        cmocka_unit_test(findings_are_sorted_by_saving),
        cmocka_unit_test(kernel_findings_follow_large_idle_time),
        cmocka_unit_test(at_most_five_findings_are_shown),
        cmocka_unit_test(a_trace_without_activity_reports_the_cause_alone),
        cmocka_unit_test(window_begins_after_dropped_activities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
