/*
 * remedies.c - implements remedies.h: the facts of a trace, and the table of remedies by situation.
 *
 * Names of interfaces, and versions, are from the pages in the column `source`.
 */
#include "analyze/overview/remedies.h"

#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "text/strings.h"

const char *const finding_titles[N_FINDING_RULES] = {
    [FINDING_NO_KERNELS] = "No GPU activity",
    [FINDING_STARTUP] = "Warm-up in the profile",
    [FINDING_UNRECORDED_GRAPH] = "Graph kernels not recorded",
    [FINDING_DEVICE_SIDE] = "GPU idle time not caused by the CPU",
    [FINDING_DATA_LOADING] = "Data loading",
    [FINDING_CPU_PREPROCESSING] = "CPU work without launches",
    [FINDING_HOST_BOUND] = "Launch-bound",
    [FINDING_SMALL_KERNELS_OPTIMIZER] = "Unfused optimizer",
    [FINDING_EXPOSED_COMM] = "Exposed communication",
    [FINDING_STRAGGLER] = "Straggler",
    [FINDING_SLOW_COLLECTIVE] = "Underused links",
    [FINDING_COPIES] = "Exposed memcpy",
    [FINDING_SYNC] = "Synchronization",
    [FINDING_ALLOCATION] = "Memory allocation in every step",
    [FINDING_FP32] = "FP32 without tensor cores",
    [FINDING_UNFUSED_ATTENTION] = "Unfused attention",
    [FINDING_ELEMENTWISE_FUSION] = "Unfused elementwise kernels",
    [FINDING_LAYOUT] = "Layout conversion (NCHW/NHWC)",
    [FINDING_DDP_BUFFERS] = "DDP buffer broadcast",
    [FINDING_GEMM_BOUND] = "Compute-bound",
    [FINDING_TRACE_EDGE] = "Trace start excluded",
};

/* ---- The table: the first row of a rule fits whose facts are all there, and none of the excluded ones ---- */

#define TORCH_DOCS "docs.pytorch.org/docs/stable/"
#define COMPILE    TORCH_DOCS "generated/torch.compile.html"
#define GRAPHED    TORCH_DOCS "generated/torch.cuda.make_graphed_callables.html"
#define DDP        TORCH_DOCS "generated/torch.nn.parallel.DistributedDataParallel.html"
#define SHARD      TORCH_DOCS "distributed.fsdp.fully_shard.html"
#define LOADER     TORCH_DOCS "data.html"
#define TUNING     "docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
#define PINNED     "docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
#define OPTIMIZERS TORCH_DOCS "optim.html"
#define TORCHREC   "docs.pytorch.org/torchrec"
#define VLLM       "docs.vllm.ai/en/latest/design/cuda_graphs/"
#define MEGATRON   "docs.nvidia.com/nemo/megatron-bridge/latest/training/communication-overlap.html"
#define PROFILER   TORCH_DOCS "profiler.html"
#define NCCL       "docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"

#define LAUNCHES "launches per step", "must fall"

const struct remedy finding_remedies[] = {
    {FINDING_NO_KERNELS,
     "host_only",
     FACT_HOST_ONLY,
     0,
     {{"Record the device too: add its activity, for example ProfilerActivity.CUDA, to the activities of the profiler.",
       "torch.profiler.profile", PROFILER, 0}},
     "kernels listed by sutra info",
     "must exceed 0"},
    {FINDING_NO_KERNELS,
     "kernels_not_delivered",
     FACT_UNDELIVERED,
     FACT_OTHER_DEVICE,
     {{"Check, in this order: the profiler stops after torch.cuda.synchronize(); the driver lets users profile "
       "(containers need SYS_ADMIN); no second profiler is attached.",
       "torch.profiler.profile", PROFILER, 0}},
     "kernels listed by sutra info",
     "must exceed 0"},
    {FINDING_NO_KERNELS, "", 0, 0, {{0}}, "kernels listed by sutra info", "must exceed 0"}, /* the cause names it */
    {FINDING_HOST_BOUND,
     "other_device",
     FACT_OTHER_DEVICE,
     0,
     {{"Launch fewer and larger kernels: torch.compile, or a larger batch.", "torch.compile", COMPILE, 0}},
     LAUNCHES},
    {FINDING_ALLOCATION,
     "other_device",
     FACT_OTHER_DEVICE,
     0,
     {{"Keep allocations of a step: use constant shapes, so that the caching allocator returns the same blocks.", NULL,
       NULL, 0}},
     "calls per step",
     "must go to 0"},
    {FINDING_UNRECORDED_GRAPH,
     "other_device",
     FACT_OTHER_DEVICE,
     0,
     {{"Record the kernels of graphs: profile without graphs.", NULL, PROFILER, 0}},
     "of the window has no kernels",
     "must go to 0"},
    {FINDING_STARTUP,
     "",
     0,
     0,
     {{"Profile after a warm-up: schedule(wait, warmup, active).", "torch.profiler.schedule", PROFILER, 0}},
     "of the window in setup",
     "must fall below 20%"},
    {FINDING_UNRECORDED_GRAPH,
     "",
     0,
     0,
     {{"Record the kernels of graphs: profile without graphs, or with a driver and profiler that trace graph nodes.",
       NULL, PROFILER, 0}},
     "of the window without kernels",
     "must go to 0"},
    {FINDING_DEVICE_SIDE,
     "",
     0,
     0,
     {{"Check dependencies between streams, and other processes on this GPU: the trace may lack their work.", NULL,
       NULL, 0}},
     "of the window with launched work that does not run",
     "must fall"},
    {FINDING_TRACE_EDGE,
     "",
     0,
     0,
     {{"Start the profiler one step earlier to record this work.", "torch.profiler.schedule", PROFILER, 0}},
     "of excluded trace",
     "must go to 0"},

    /* Data */
    {FINDING_DATA_LOADING,
     "worker_processes",
     FACT_WORKERS,
     0,
     {{"The workers are too slow: raise num_workers or prefetch_factor.", "torch.utils.data.DataLoader", LOADER, 0},
      {"Make %s cheaper, or load ready-made batches.", NULL, TUNING, FACT_UNNAMED}},
     "of idle time in the loader per step",
     "must go to 0"},
    {FINDING_DATA_LOADING,
     "training_process",
     FACT_INLINE_LOADER,
     0,
     {{"Load in worker processes: DataLoader(num_workers=4 or more, pin_memory=True, persistent_workers=True).",
       "torch.utils.data.DataLoader", LOADER, 0}},
     "of idle time in the loader per step",
     "must go to 0"},
    {FINDING_DATA_LOADING,
     "other",
     0,
     0,
     {{"Load batches in parallel with the step, in worker processes.", "torch.utils.data.DataLoader", LOADER, 0}},
     "of idle time in the loader per step",
     "must go to 0"},
    {FINDING_CPU_PREPROCESSING,
     "named",
     FACT_NAMED,
     0,
     {{"Move %s to worker processes or to the GPU, or do it once.", NULL, TUNING, 0}},
     "of idle time in it per step",
     "must go to 0"},
    {FINDING_CPU_PREPROCESSING,
     "unnamed",
     0,
     0,
     {{"The trace does not record the code: profile with with_stack=True.", "torch.profiler.profile", PROFILER, 0},
      {"Then move this work to worker processes or to the GPU, or do it once.", NULL, TUNING, 0}},
     "of idle time in it per step",
     "must go to 0"},

    /* Launches */
    {FINDING_HOST_BOUND,
     "engine",
     FACT_ENGINE | FACT_SGLANG,
     FACT_BACKWARD,
     {{"Let the engine capture CUDA graphs: start SGLang without --disable-cuda-graph.", "--disable-cuda-graph",
       "docs.sglang.ai", FACT_HIP},
      {"Let the engine capture HIP graphs: start SGLang without --disable-cuda-graph.", "--disable-cuda-graph",
       "docs.sglang.ai", FACT_CUDA},
      {"Larger batches also keep the GPU busy.", NULL, "docs.sglang.ai", 0}},
     "graph launches",
     "must exceed 0"},
    {FINDING_HOST_BOUND,
     "engine",
     FACT_ENGINE | FACT_VLLM,
     FACT_BACKWARD,
     {{"Let the engine capture CUDA graphs: enforce_eager=False, and cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or "
       "later).",
       "cudagraph_mode", VLLM, FACT_HIP},
      {"Let the engine capture HIP graphs: enforce_eager=False, and cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or "
       "later).",
       "cudagraph_mode", VLLM, FACT_CUDA},
      {"Larger batches also keep the GPU busy.", NULL, VLLM, 0}},
     "graph launches",
     "must exceed 0"},
    {FINDING_HOST_BOUND,
     "engine",
     FACT_ENGINE,
     FACT_BACKWARD,
     {{"Let the engine compile the model and capture CUDA graphs: torch.compile(mode=\"reduce-overhead\").",
       "torch.compile", COMPILE, FACT_HIP},
      {"Let the engine compile the model and capture HIP graphs: torch.compile(mode=\"reduce-overhead\").",
       "torch.compile", COMPILE, FACT_CUDA},
      {"Larger batches also keep the GPU busy.", NULL, TUNING, 0}},
     LAUNCHES},
    {FINDING_HOST_BOUND,
     "compiled",
     FACT_COMPILED,
     FACT_GRAPHS,
     {{"The compiled graph runs kernel by kernel: use the Inductor backend, torch.compile(model).", "torch.compile",
       COMPILE, 0},
      {"Then torch.compile(mode=\"reduce-overhead\"), which uses CUDA graphs (PyTorch 2.0 or later).", "torch.compile",
       COMPILE, FACT_HIP},
      {"Then torch.compile(mode=\"reduce-overhead\"), which uses HIP graphs (PyTorch 2.0 or later).", "torch.compile",
       COMPILE, FACT_CUDA}},
     LAUNCHES},
    {FINDING_HOST_BOUND,
     "graphs",
     FACT_GRAPHS,
     0,
     {{"Some kernels already run in graphs: capture the rest of the step, too.", "torch.cuda.make_graphed_callables",
       GRAPHED, 0},
      {"Or use a larger batch.", NULL, TUNING, 0}},
     LAUNCHES},
    {FINDING_HOST_BOUND,
     "one_shot",
     FACT_FEW_LAUNCHES,
     FACT_BACKWARD | FACT_OPTIMIZER,
     {{"One pass of inference: first use a larger batch, several items per pass.", NULL, TUNING, 0},
      {"Then torch.compile(mode=\"reduce-overhead\").", "torch.compile", COMPILE, 0}},
     "launches per item",
     "must fall"},
    {FINDING_HOST_BOUND,
     "eager",
     0,
     0,
     {{"Launch less often: torch.compile(mode=\"reduce-overhead\") uses CUDA graphs; or a larger batch.",
       "torch.compile", COMPILE, FACT_HIP},
      {"Launch less often: torch.compile(mode=\"reduce-overhead\") uses HIP graphs; or a larger batch.",
       "torch.compile", COMPILE, FACT_CUDA},
      {"Else capture parts of the model with torch.cuda.make_graphed_callables.", "torch.cuda.make_graphed_callables",
       GRAPHED, 0}},
     LAUNCHES},
    {FINDING_SMALL_KERNELS_OPTIMIZER,
     "many_kernels",
     FACT_MANY_KERNELS,
     0,
     {{"Update all parameters together: %s(..., fused=True), or foreach=True.", "torch.optim", OPTIMIZERS, 0},
      {"Call zero_grad(set_to_none=True).", "torch.optim.Optimizer.zero_grad", OPTIMIZERS, 0}},
     "kernels per step",
     "must fall below 20"},
    {FINDING_SMALL_KERNELS_OPTIMIZER,
     "host_grouping",
     0,
     0,
     {{"The CPU groups tensors before few kernels (%s): use fused=True.", "torch.optim", OPTIMIZERS, 0},
      {"Or compile the update: torch.compile(optimizer.step) (PyTorch 2.2 or later).", "torch.compile",
       "docs.pytorch.org/tutorials/recipes/compiling_optimizer.html", 0}},
     "of CPU time in the optimizer per step",
     "must fall"},
    {FINDING_SYNC,
     "item",
     FACT_ITEM,
     0,
     {{"%s reads a value of the GPU: keep losses and conditions on the GPU, and read them every N steps.",
       "torch.Tensor.item", TUNING, 0}},
     "waits per step",
     "must fall"},
    {FINDING_SYNC,
     "nonzero",
     FACT_NONZERO,
     0,
     {{"%s needs a size from the GPU: use torch.where with a fixed shape, or masks.", "torch.where", TUNING, 0}},
     "waits per step",
     "must fall"},
    {FINDING_SYNC,
     "copy",
     FACT_FROM_DEVICE,
     0,
     {{"Copy results to pinned memory with non_blocking=True, and read them later (%s).", "torch.Tensor.to", PINNED,
       0}},
     "waits per step",
     "must fall"},
    {FINDING_SYNC,
     "call",
     0,
     0,
     {{"Remove %s from the step, or read results later or less often.", "torch.cuda.synchronize", TUNING, 0}},
     "waits per step",
     "must fall"},
    {FINDING_ALLOCATION,
     "hip",
     FACT_HIP,
     0,
     {{"Keep memory in the caching allocator: no empty_cache() in the step, and constant shapes.",
       "torch.cuda.empty_cache", TORCH_DOCS "notes/cuda.html", 0}},
     "of idle time in setup per step",
     "must go to 0"},
    {FINDING_ALLOCATION,
     "cuda",
     0,
     0,
     {{"Keep memory in the caching allocator: no empty_cache() in the step, and constant shapes.",
       "torch.cuda.empty_cache", TORCH_DOCS "notes/cuda.html", 0},
      {"Against fragmentation set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.", "PYTORCH_CUDA_ALLOC_CONF",
       TORCH_DOCS "notes/cuda.html", 0}},
     "of idle time in setup per step",
     "must go to 0"},
    {FINDING_DDP_BUFFERS,
     "",
     0,
     0,
     {{"Set broadcast_buffers=False if ranks need not share buffers.", "torch.nn.parallel.DistributedDataParallel", DDP,
       0}},
     "of idle time in it per step",
     "must go to 0"},

    /* Communication */
    {FINDING_EXPOSED_COMM,
     "deepep",
     FACT_DEEPEP,
     0,
     {{"Overlap two micro-batches: one computes while the other exchanges tokens.", NULL,
       "github.com/deepseek-ai/DeepEP", 0},
      {"Or use DeepEP's low-latency kernels.", "low_latency_dispatch", "github.com/deepseek-ai/DeepEP", 0}},
     "exposed per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "fused_reduce",
     FACT_INNER_REDUCE,
     0,
     {{"Fuse the all-reduce with the norm that follows.", NULL, NULL, 0},
      {"Or use a smaller tensor-parallel group.", "tensor_parallel_size", NULL, 0}},
     "exposed per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "inference",
     FACT_ALL_REDUCE,
     FACT_BACKWARD | FACT_OPTIMIZER,
     {{"Use the engine's custom all-reduce if the GPUs are connected directly, or a smaller tensor-parallel group.",
       "tensor_parallel_size", "docs.vllm.ai/en/stable/api/vllm/distributed/device_communicators/custom_all_reduce/",
       0}},
     "of exposed communication per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "tp",
     FACT_ALL_REDUCE | FACT_FORWARD,
     FACT_DDP | FACT_MANY_SHORT,
     {{"Use sequence parallelism, and overlap its collectives: async tensor parallelism with torch.compile.",
       "enable_async_tensor_parallel", "github.com/pytorch/torchtitan", 0},
      {"Or use a smaller tensor-parallel group.", NULL, "github.com/pytorch/torchtitan", 0}},
     "of exposed communication per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "ddp",
     FACT_ALL_REDUCE | FACT_MANY_SHORT,
     0,
     {{"Bucket the all-reduces: let DistributedDataParallel do it (bucket_cap_mb=25 or more).",
       "torch.nn.parallel.DistributedDataParallel", DDP, 0},
      {"With torch.compile, wrap the model in DistributedDataParallel: DDPOptimizer keeps the buckets.",
       "torch.compile", TORCH_DOCS "torch.compiler_faq.html", 0}},
     "collectives per step",
     "must fall below 20"},
    {FINDING_EXPOSED_COMM,
     "ddp",
     FACT_ALL_REDUCE,
     0,
     {{"Overlap gradients with the backward pass: tune bucket_cap_mb, set gradient_as_bucket_view=True.",
       "torch.nn.parallel.DistributedDataParallel", DDP, 0},
      {"With gradient accumulation, use no_sync() for all but the last pass.",
       "torch.nn.parallel.DistributedDataParallel.no_sync", DDP, 0}},
     "of exposed communication per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "fsdp",
     FACT_SHARDED | FACT_FSDP,
     0,
     {{"Prefetch all-gathers: set_modules_to_forward_prefetch, set_modules_to_backward_prefetch (FSDP2, PyTorch 2.6 or "
       "later); forward_prefetch=True (FSDP1).",
       "torch.distributed.fsdp.FSDPModule.set_modules_to_forward_prefetch", SHARD, 0},
      {"If memory allows, reshard_after_forward=False.", "torch.distributed.fsdp.fully_shard", SHARD, 0},
      {"Apply fully_shard to each block: implicit prefetch works only if the CPU runs ahead.",
       "torch.distributed.fsdp.fully_shard", SHARD, 0}},
     "of exposed all-gather per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "shard",
     FACT_SHARDED,
     0,
     {{"Start all-gathers before they are needed, and send less: shard fewer parameters, or in fewer ranks.", NULL,
       NULL, 0}},
     "of exposed communication per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "moe",
     FACT_ALL_TO_ALL | FACT_MOE,
     0,
     {{"Overlap the expert exchange: overlap_moe_expert_parallel_comm with delay_wgrad_compute (Megatron Core, PyTorch "
       "2.6 or later).",
       "overlap_moe_expert_parallel_comm", MEGATRON, 0},
      {"Use the flex dispatcher (DeepEP), and balance the experts.", "moe_token_dispatcher_type", MEGATRON, 0}},
     "of exposed all-to-all per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "embedding",
     FACT_ALL_TO_ALL | FACT_EMBEDDING,
     0,
     {{"Pipeline the input exchange: TrainPipelineSparseDist, or PrefetchTrainPipelineSparseDist (torchrec).",
       "torchrec.distributed.train_pipeline.TrainPipelineSparseDist", TORCHREC, 0},
      {"Else send less (quantized communication), or plan the tables again (EmbeddingShardingPlanner).",
       "torchrec.distributed.planner.EmbeddingShardingPlanner", TORCHREC "/planner-api-reference.html", 0}},
     "of exposed all-to-all per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "all_to_all",
     FACT_ALL_TO_ALL,
     0,
     {{"Start the exchange earlier and overlap it with compute, or send less.", NULL, NULL, 0}},
     "of exposed all-to-all per step",
     "must fall"},
    {FINDING_EXPOSED_COMM,
     "other",
     0,
     0,
     {{"Overlap it with compute, or send less or less often.", NULL, NULL, 0}},
     "of exposed communication per step",
     "must fall"},
    {FINDING_STRAGGLER,
     "before_step",
     FACT_NAMED,
     0,
     {{"Check what only this rank does before the step: logging, evaluation, data loading.", NULL, NULL, 0}},
     "of wait per step",
     "must fall"},
    {FINDING_STRAGGLER,
     "one_rank",
     FACT_UNNAMED,
     0,
     {{"Analyze the traces of all ranks to find the rank. It may be this rank: the straggler waits least.",
       "sutra analyze", NULL, 0}},
     "of wait per step",
     "must fall"},
    {FINDING_STRAGGLER,
     "in_step",
     0,
     0,
     {{"Compare the work of this rank before these collectives with other ranks: more data, a slower GPU, extra work.",
       "sutra analyze collectives", NULL, 0}},
     "of wait per step",
     "must fall"},
    {FINDING_SLOW_COLLECTIVE,
     "",
     0,
     0,
     {{"Check the transport with NCCL_DEBUG=INFO: NCCL_P2P_DISABLE, IOMMU, no peer access, too few channels.",
       "NCCL_DEBUG", NCCL, 0}},
     "of bus bandwidth",
     "must rise"},

    /* Copies */
    {FINDING_COPIES,
     "static_input",
     FACT_STATIC_INPUT,
     0,
     {{"Inputs are copied into buffers of graphs: pass the same buffers, or mark them static (mark_static_address).",
       "torch._dynamo.mark_static_address", "github.com/pytorch/pytorch", 0}},
     "of exposed memcpy per step",
     "must fall"},
    {FINDING_COPIES,
     "pageable",
     FACT_TO_DEVICE | FACT_PAGEABLE,
     0,
     {{"The host memory is pageable: pin_memory=True and non_blocking=True overlap copies with kernels.",
       "torch.utils.data.DataLoader", PINNED, 0}},
     "of exposed memcpy per step",
     "must fall"},
    {FINDING_COPIES,
     "pinned",
     FACT_TO_DEVICE,
     0,
     {{"Copy the next batch on a separate stream during the step.", "torch.cuda.Stream", PINNED, 0}},
     "of exposed memcpy per step",
     "must fall"},
    {FINDING_COPIES,
     "from_device",
     FACT_FROM_DEVICE,
     0,
     {{"Read results less often, into pinned memory, with non_blocking=True.", "torch.Tensor.to", PINNED, 0}},
     "of exposed memcpy per step",
     "must fall"},
    {FINDING_COPIES,
     "on_device",
     FACT_ON_DEVICE,
     0,
     {{"Avoid .contiguous(), .clone() and concatenation of large tensors.", "torch.Tensor.contiguous", TUNING, 0}},
     "of exposed memcpy per step",
     "must fall"},
    {FINDING_COPIES,
     "other",
     0,
     0,
     {{"Check whether the copies are needed.", NULL, NULL, 0}},
     "of exposed memcpy per step",
     "must fall"},

    /* Kernels */
    {FINDING_FP32,
     "amd",
     FACT_HIP,
     0,
     {{"Use lower precision: torch.autocast with bfloat16.", "torch.autocast", TORCH_DOCS "amp.html", 0}},
     "of GPU time in FP32 kernels",
     "must fall"},
    {FINDING_FP32,
     "nvidia",
     0,
     0,
     {{"Use tensor cores: torch.autocast with bfloat16, or torch.set_float32_matmul_precision(\"high\") for TF32.",
       "torch.autocast", TORCH_DOCS "amp.html", 0}},
     "of GPU time in FP32 kernels",
     "must fall"},
    {FINDING_UNFUSED_ATTENTION,
     "",
     0,
     0,
     {{"Use torch.nn.functional.scaled_dot_product_attention.", "torch.nn.functional.scaled_dot_product_attention",
       TORCH_DOCS "generated/torch.nn.functional.scaled_dot_product_attention.html", 0}},
     "of GPU time in softmax and bmm",
     "must fall"},
    {FINDING_ELEMENTWISE_FUSION,
     "compiled",
     FACT_COMPILED,
     0,
     {{"Fuse them: find the graph breaks that keep them out of the compiled code (TORCH_LOGS=graph_breaks).",
       "TORCH_LOGS", COMPILE, 0}},
     "of GPU time in elementwise kernels",
     "must fall"},
    {FINDING_ELEMENTWISE_FUSION,
     "eager",
     0,
     0,
     {{"Fuse them with torch.compile, or use fused kernels.", "torch.compile", COMPILE, 0}},
     "of GPU time in elementwise kernels",
     "must fall"},
    {FINDING_LAYOUT,
     "",
     0,
     0,
     {{"Use memory_format=torch.channels_last for the model and its inputs.", "torch.channels_last",
       "docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html", 0}},
     "of GPU time in layout conversion",
     "must go to 0"},
    {FINDING_GEMM_BOUND,
     "amd_memory_bound",
     FACT_HIP | FACT_FEW_ROWS,
     0,
     {{"Few rows per matmul read all weights: use a larger batch, or fewer bits per weight.", NULL, TUNING, 0},
      {"Tune GEMMs: PYTORCH_TUNABLEOP_ENABLED=1.", "PYTORCH_TUNABLEOP_ENABLED", TORCH_DOCS "cuda.tunable.html", 0}},
     "of the time in compute",
     "is the limit: measure TFLOP/s, or items per second"},
    {FINDING_GEMM_BOUND,
     "amd",
     FACT_HIP,
     0,
     {{"Only faster or fewer kernels help.", NULL, NULL, 0},
      {"Tune GEMMs: PYTORCH_TUNABLEOP_ENABLED=1.", "PYTORCH_TUNABLEOP_ENABLED", TORCH_DOCS "cuda.tunable.html", 0}},
     "of the time in compute",
     "is the limit: measure TFLOP/s, or items per second"},
    {FINDING_GEMM_BOUND,
     "memory_bound",
     FACT_FEW_ROWS,
     0,
     {{"Few rows per matmul read all weights: use a larger batch, or fewer bits per weight.", NULL, TUNING, 0}},
     "of the time in compute",
     "is the limit: measure TFLOP/s, or items per second"},
    {FINDING_GEMM_BOUND,
     "",
     0,
     0,
     {{"Only faster or fewer kernels help.", NULL, NULL, 0}},
     "of the time in compute",
     "is the limit: measure TFLOP/s, or items per second"},
};

#define N_REMEDIES (sizeof finding_remedies / sizeof *finding_remedies)

uint32_t count_remedies(void) {
    return N_REMEDIES;
}

void select_remedy(const struct diagnosis *d, struct overview_finding *finding) {
    finding->facts |= d ? d->facts : 0;
    for (uint32_t i = 0; i < N_REMEDIES; i++) {
        const struct remedy *remedy = &finding_remedies[i];
        if (remedy->rule == finding->rule && (finding->facts & remedy->needs) == remedy->needs &&
            !(finding->facts & remedy->excludes)) {
            finding->remedy = i;
            return;
        }
    }
}

const char *finding_title(const struct overview_finding *finding) {
    bool is_cpu = finding->rule == FINDING_HOST_BOUND && finding->facts & FACT_LONG_KERNELS;
    return is_cpu ? "CPU-bound" : finding_titles[finding->rule];
}

void remedy_line_text(const struct remedy_line *line, const struct overview_finding *finding, char *text, size_t size) {
    const char *name = strstr(line->text, "%s");
    if (name)
        snprintf(text, size, "%.*s%s%s", (int)(name - line->text), line->text,
                 *finding->subject ? finding->subject : "it", name + 2);
    else
        snprintf(text, size, "%s", line->text);
}

void finding_text(const struct overview_finding *finding, char *text, size_t size) {
    const struct remedy *remedy = &finding_remedies[finding->remedy];
    snprintf(text, size, "%s: %s", finding_title(finding), finding->seen);
    for (int i = 0; i < REMEDY_LINES; i++) {
        size_t length = strlen(text);
        if (!remedy_line_applies(&remedy->lines[i], finding) || length + 2 > size)
            continue;
        text[length] = ' ';
        remedy_line_text(&remedy->lines[i], finding, text + length + 1, size - length - 1);
    }
}

/* ---- Facts of a trace ---- */

static const struct {
    const char *word;
    enum comparison comparison;
    uint64_t fact;
    bool in_frames; /* also in names of Python functions */
} fact_words[] = {
    {"vllm", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE | FACT_VLLM, true},
    {"sglang", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE | FACT_SGLANG, true},
    {"xdit", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE, true},
    {"xfuser", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE, true},
    {"Backward", TEXT_HAS, FACT_BACKWARD, false},
    {"autograd::engine", TEXT_HAS, FACT_BACKWARD, false},
    {"Optimizer", TEXT_HAS, FACT_OPTIMIZER, false},
    {"CompiledFunction", TEXT_HAS, FACT_COMPILED, false},
    {"Torch-Compiled Region", TEXT_HAS, FACT_COMPILED, false},
    {"moe", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"expert", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"router", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"dispatch", TEXT_HAS_IN_ANY_CASE, FACT_MOE, false},
    {"combine", TEXT_HAS_IN_ANY_CASE, FACT_MOE, false},
    {"embedding", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"fbgemm", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"sparse", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"splittbe", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"dlrm", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"fsdp", TEXT_HAS_IN_ANY_CASE, FACT_FSDP, true},
    {"fullyshard", TEXT_HAS_IN_ANY_CASE, FACT_FSDP, true},
    {"DistributedDataParallel", TEXT_HAS, FACT_DDP, true},
    {"_MultiProcessing", TEXT_HAS, FACT_WORKERS, true},
    {"_SingleProcess", TEXT_HAS, FACT_INLINE_LOADER, true},
};

enum sutra_status read_trace_facts(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    struct arena_mark mark = arena_mark(d->arena);
    enum { USED = 1, USED_BY_FRAME = 2, USED_BY_CALL = 4 };
    uint8_t *used = arena_zeros(d->arena, strings->n, 1);
    if (!used)
        return error_memory(error);
    for (row_t row = 0; row < hosts->n; row++)
        used[host_name(d->model, row)] |= hosts->kind[row] == HOST_FRAME  ? USED_BY_FRAME
                                          : hosts->kind[row] == HOST_CALL ? USED_BY_CALL
                                                                          : USED;
    for (uint32_t string = 0; string < strings->n; string++) {
        if (!used[string])
            continue;
        if (used[string] & USED_BY_CALL && text_compare(strings, string, TEXT_BEGINS, "hip"))
            d->facts |= FACT_HIP;
        for (size_t i = 0; i < sizeof fact_words / sizeof *fact_words && used[string] & (USED | USED_BY_FRAME); i++) {
            if ((d->facts & fact_words[i].fact) == fact_words[i].fact)
                continue;
            if (used[string] & USED || fact_words[i].in_frames)
                if (text_compare(strings, string, fact_words[i].comparison, fact_words[i].word))
                    d->facts |= fact_words[i].fact;
        }
    }
    if (d->overview->device.kind == DEVICE_KIND_ROCM)
        d->facts |= FACT_HIP;
    d->facts |= !device_has_cuda_apis(d->overview->device.kind) ? FACT_OTHER_DEVICE
                : d->facts & FACT_HIP                           ? 0
                                                                : FACT_CUDA;
    arena_release(d->arena, mark);
    return SUTRA_OK;
}
