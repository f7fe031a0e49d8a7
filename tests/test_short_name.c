/*
 * test_short_name.c - tests shortened kernel names: they fit the limit, keep the informative words, and stay distinct.
 */
#include <stdbool.h>

#include "text/names.h"
#include "text/strings.h"
#include "unit.h"

static void short_names_describe_the_computation(void **state) {
    static const struct {
        const char *name, *reduced;
    } cases[] = {
        {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<"
         "float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, "
         "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
         "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
         "elementwise CUDAFunctor_add<float>"},
        {"void at::native::unrolled_elementwise_kernel<at::native::(anonymous namespace)::direct_copy_kernel_cuda(at::"
         "TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#6}::operator()() const::{lambda(int)#1}, "
         "at::detail::Array<char*, 2> >(int)",
         "elementwise direct_copy_kernel_cuda(int)"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<float, "
         "at::native::sum_functor<float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned "
         "int, float, 4> >(at::native::ReduceOp<float>)",
         "reduce sum_functor<float, float>"},
        {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>(float*, "
         "at::native::(anonymous namespace)::CatArrInputTensorMetadata<float, unsigned int, 128, 1>, int)",
         "CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>"},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16>(cutlass_80_wmma_tensorop_bf16::Params)",
         "cutlass::Kernel2 cutlass_80_wmma_tensorop_bf16"},
        {"void gemmSN_NN_kernel<float, 256, cublasGemvTensorStridedBatched<float const> >(cublasGemmSmallNParams<float>)",
         "gemmSN_NN_kernel<float, 256, cublasGemvTensorStridedBatched<float const>>"},
        {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7, cublasGemvParams<float> >(int)",
         "gemvx::kernel<int, 7, cublasGemvParams<float>>"},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllGather_RING_LL"},
        {"void foo<a::Bar<", "foo Bar"}, /* cut by the recorder */
        {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELb0ELin1EEEvPT0_PT_",
         "add_rmsnorm_quant_kernel<bfloat16, bfloat16, 256, false, -1>"},
        {"_ZN2ck6device12_GLOBAL__N_111kernel_gemmINS_8GridwiseILi64EttEEEvv", "kernel_gemm Gridwise"},
        {"_Z3addiPf", "add"},
        {"_Z99add", "_Z99add"},
        {"_Z", "_Z"},
        {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "evaluate_function: AccumulateGrad"},
        {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
        {"torch/nn/module.py(1532): _call_impl", "torch/nn/module.py(1532): _call_impl"},
        {"<built-in function linear>", "<built-in function linear>"},
        {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
        {">)}]", ">)}]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reduced[KERNEL_NAME_MAX];
        bool shorter = kernel_name_reduce(cases[i].name, reduced);
        assert_string_equal(reduced, cases[i].reduced);
        assert_int_equal(shorter, strcmp(cases[i].name, cases[i].reduced) != 0);
    }
}

static void texts_are_cut_by_columns(void **state) {
    assert_string_equal(short_text("abcdefgh", 8).text, "abcdefgh");
    assert_string_equal(short_text("abcdefghi", 8).text, "abcdef..");
    assert_string_equal(short_text("a\nb\x1b[2J\tc", 20).text, "a\\x0ab\\x1b[2J\\x09c");
    assert_string_equal(short_text("gr\xc3\xbc\xc3\x9f \xff\xc2\x9b", 20).text, "gr\xc3\xbc\xc3\x9f \\xff\\xc2\\x9b");
    assert_string_equal(short_text("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 9).text,
                        "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2..");
    assert_int_equal(short_text("\xe6\xbc\xa2\xe6\xbc\xa2", 9).n_columns, 4);
    assert_int_equal(short_text("\x1b", 9).n_columns, 4);
    assert_string_equal(short_path("folder/trace.json", 12).text, "..trace.json");
    assert_string_equal(short_path("folder/tr\xc3\xbc.json", 10).text, "..tr\xc3\xbc.json");
    assert_string_equal(short_path("folder/\xe6\xbc\xa2.json", 9).text, "..\xe6\xbc\xa2.json");
    assert_string_equal(short_path("trace.json", 12).text, "trace.json");
}

static void names_that_differ_stay_different(void **state) {
    static const char *const names[] = {
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
        "void at::native::elementwise_kernel<128, 2, at::native::AddFunctor<float> >(int)",
        "void at::native::elementwise_kernel<128, 4, at::native::AddFunctor<float> >(int)",
        "short",
    };
    enum { N = sizeof names / sizeof *names };
    struct shortened shorts[N];
    short_names(names, N, 30, shorts);
    assert_string_equal(shorts[0].text, "ampere_fp16_s16816gemm_fp1..nn");
    assert_string_equal(shorts[2].text, shorts[0].text);
    assert_string_equal(shorts[1].text, "ampere_fp16_s16816gemm_fp1..tn");
    assert_string_equal(shorts[3].text, "elementwise Add..2, at::nati..");
    assert_string_equal(shorts[4].text, "elementwise Add..4, at::nati..");
    assert_string_equal(shorts[5].text, "short");
}

/* Names of few words, so that many begin and end alike, and of bytes that are shown or are no characters. */
static void random_names_fit_and_stay_different(void **state) {
    enum { N = 300, ROUNDS = 20 };
    static const char *const words[] = {"void ", "at::", "kernel", "<", ">",  "(",    ")",    "float", ", ",
                                        "_Z3",   "I",    "E",      "7", "{}", "\x1b", "\xc3", "ab",    " #1"};
    static char names[N][600];
    static struct shortened shorts[N];
    const char *pointers[N];
    uint64_t seed = 20;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned width = 8 + round * 5;
        for (size_t i = 0; i < N; i++) {
            size_t length = round % 2 ? (size_t)snprintf(names[i], sizeof names[i], "a_beginning_that_all_have_") : 0;
            for (unsigned k = 0; k < i % 90 && length < sizeof names[i] - 8; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                length += (size_t)snprintf(names[i] + length, sizeof names[i] - length, "%s",
                                           words[(seed >> 33) % (sizeof words / sizeof *words)]);
            }
            names[i][length] = '\0';
            pointers[i] = names[i];
        }
        short_names(pointers, N, width, shorts);
        for (size_t i = 0; i < N; i++) {
            assert_true(shorts[i].n_columns <= width);
            for (size_t k = 0; k < i; k++)
                assert_int_equal(strcmp(names[i], names[k]) == 0, strcmp(shorts[i].text, shorts[k].text) == 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_names_describe_the_computation),
        cmocka_unit_test(texts_are_cut_by_columns),
        cmocka_unit_test(names_that_differ_stay_different),
        cmocka_unit_test(random_names_fit_and_stay_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
