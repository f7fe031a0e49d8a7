/*
 * test_kernel_class.c - tests the class, library, collective and phase of kernels by category, name and argument.
 */
#include "facts/kernel_class.h"
#include "unit.h"

struct kernel_case {
    uint32_t category;
    const char *name, *library, *collective, *phase;
    bool fused;
};

static void kernels_have_a_library_and_a_collective(void **state) {
    static const struct kernel_case cases[] = {
        {CATEGORY_KERNEL, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl",
         "allreduce", "", false},
        {CATEGORY_KERNEL, "ncclSymkDevKernel_AllGather_STMC(ncclSymkDevWorkArgs4K)", "nccl", "allgather", "", false},
        {CATEGORY_KERNEL, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "nccl", "sendrecv", "", false},
        {CATEGORY_KERNEL, "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "nccl", "unknown", "", false},
        {CATEGORY_KERNEL, "my_RCCL_broadcast", "nccl", "broadcast", "", false},
        {CATEGORY_KERNEL, "void deep_ep::intranode::dispatch<8, 768>(int4*)", "deepep", "alltoall", "dispatch", false},
        {CATEGORY_KERNEL, "void deep_ep::internode_ll::combine<false>(void*)", "deepep", "alltoall", "combine", false},
        {CATEGORY_KERNEL, "void deep_ep::intranode::cached_notify_combine<8>(void**)", "deepep", "alltoall", "notify",
         false},
        {CATEGORY_KERNEL, "deep_ep::internode_ll::clean_low_latency_buffer<1>", "deepep", "barrier", "", false},
        {CATEGORY_KERNEL, "vllm::cross_device_reduce_1stage<bf16>", "custom", "allreduce", "", false},
        {CATEGORY_KERNEL, "flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport", "trtllm",
         "allreduce", "", true},
        {CATEGORY_KERNEL, "kuserbuffers_pushsend(int*)", "userbuffers", "sendrecv", "", false},
        {CATEGORY_KERNEL, "kuserbuffers_inc(int*)", "userbuffers", "barrier", "", false},
        {CATEGORY_KERNEL, "userbuffers_fp16_sum_inplace_gpu_rr_rs<8>", "userbuffers", "reducescatter", "", false},
        {CATEGORY_KERNEL, "multimem_all_reduce_kernel<bf16>", "torch_symm_mem", "allreduce", "", false},
        {CATEGORY_KERNEL, "void nvshmem::allToAllV_2d(void*)", "nvshmem", "alltoall", "", false},
        {CATEGORY_KERNEL, "my_all_gather_kernel", "other", "allgather", "", false},
        {CATEGORY_KERNEL | CATEGORY_COMMUNICATION, "allreduce_small", "oneccl", "allreduce", "", false},
        {CATEGORY_KERNEL | CATEGORY_MTIA, "hccl::all_gather", "hccl", "allgather", "", false},
        {CATEGORY_KERNEL | CATEGORY_NPU, "hcom_allReduce__123_0_1", "hccl", "allreduce", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kernel_case *c = &cases[i];
        uint8_t kind = kernel_kind_find(c->category, c->name, strlen(c->name));
        const struct kernel_kind *found = &kernel_kinds[kind];
        if (found->class != DEVICE_COMMUNICATION)
            fail_msg("%s does not communicate", c->name);
        assert_string_equal(kernel_library_names[found->library], c->library);
        assert_string_equal(kernel_collective_names[kernel_collective_find(kind, "", c->name, strlen(c->name))],
                            c->collective);
        assert_string_equal(kernel_phase_names[found->phase], c->phase);
        assert_int_equal(found->fused, c->fused);
    }
}

static void other_activities_do_not_communicate(void **state) {
    static const struct {
        uint32_t category;
        const char *name;
        enum device_class class;
    } cases[] = {
        {CATEGORY_KERNEL, "triton_poi_fused_add_all_reduce_wait_tensor_0", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "void deep_ep::layout::get_dispatch_layout<8>(long*)", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "flash::FlashAttnFwdCombine", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "_combined_routing_compute", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "cub::DeviceReduceKernel all_reduce", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "at::native::reduce_kernel allgather", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "void blockAllReduceSum<float>(float*)", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "intra_cta_all_reduce", DEVICE_COMPUTE},
        {CATEGORY_KERNEL, "gemm", DEVICE_COMPUTE},
        {CATEGORY_COPY, "ncclMemcpy", DEVICE_COPY},
        {CATEGORY_KERNEL, "__amd_rocclr_copyBufferAligned.kd", DEVICE_COPY},
        {CATEGORY_SET, "nccl", DEVICE_COMPUTE},
        {CATEGORY_KERNEL | CATEGORY_MTIA, "event_wait", DEVICE_NO_WORK},
        {CATEGORY_KERNEL | CATEGORY_MTIA, "dma_request", DEVICE_COPY},
        {CATEGORY_KERNEL | CATEGORY_MTIA, "pe_exe", DEVICE_COMPUTE},
        {CATEGORY_KERNEL | CATEGORY_NPU, "Notify_Wait", DEVICE_NO_WORK},
        {CATEGORY_KERNEL | CATEGORY_NPU, "MEMCPY_ASYNC", DEVICE_COPY},
        {CATEGORY_CPU_OP, "ncclDevKernel_AllReduce", DEVICE_NO_WORK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t kind = kernel_kind_find(cases[i].category, cases[i].name, strlen(cases[i].name));
        if (kernel_kinds[kind].class != cases[i].class)
            fail_msg("%s: class %d", cases[i].name, kernel_kinds[kind].class);
    }
}

static void the_argument_decides_if_the_name_does_not(void **state) {
    static const char *const names[] = {"gemm", "my_all_gather_kernel"};
    for (size_t i = 0; i < 2; i++) {
        uint8_t kind = kernel_kind_find(CATEGORY_KERNEL, names[i], strlen(names[i]));
        uint8_t with = kernel_kind_with(kind, EVENT_HAS_COLLECTIVE);
        assert_int_equal(kernel_kinds[with].library, LIBRARY_OTHER);
        assert_int_equal(kernel_collective_find(with, "_reduce_scatter_base", names[i], strlen(names[i])),
                         COLL_REDUCESCATTER);
        assert_int_equal(kernel_kind_with(kind, 0), kind);
    }
    uint8_t triton = kernel_kind_find(CATEGORY_KERNEL, "triton_red_fused_sum_0", 22);
    assert_int_equal(kernel_kind_with(triton, EVENT_HAS_COLLECTIVE), triton);
    uint8_t generic = kernel_kind_find(CATEGORY_KERNEL, "ncclDevKernel_Generic", 21);
    assert_int_equal(kernel_collective_find(generic, "all_to_allv", "ncclDevKernel_Generic", 21), COLL_ALLTOALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_a_library_and_a_collective),
        cmocka_unit_test(other_activities_do_not_communicate),
        cmocka_unit_test(the_argument_decides_if_the_name_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
