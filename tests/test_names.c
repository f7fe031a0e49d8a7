/*
 * test_names.c - tests the classification of names and categories for each reader.
 */
#include "facts/names.h"
#include "unit.h"

#define READER_LAST READER_TREE

static struct string_roles role_of(const char *text, size_t length, enum reader reader) {
    struct arena arena = {0};
    struct strings strings;
    assert_true(strings_init(&strings));
    assert_int_equal(strings_intern(&strings, "before", 6), 0);
    assert_int_equal(strings_intern(&strings, text, length), 1);
    struct string_roles *roles = names_find(&strings, reader, &arena);
    assert_non_null(roles);
    assert_int_equal(roles[0].name | roles[0].category, 0);
    struct string_roles role = roles[1];
    arena_free(&arena);
    strings_free(&strings);
    return role;
}

static uint32_t name_to(const char *text, enum reader reader) {
    return role_of(text, strlen(text), reader).name;
}

static uint32_t category_to(const char *text, enum reader reader) {
    return role_of(text, strlen(text), reader).category;
}

/* The readers that classify the name as a launch. */
static uint32_t readers_of_launch(const char *name) {
    uint32_t readers = 0;
    for (uint32_t reader = 1; reader <= READER_LAST; reader <<= 1)
        if (name_to(name, (enum reader)reader) & NAME_LAUNCH)
            readers |= reader;
    return readers;
}

static void each_reader_has_its_own_launches(void **state) {
    const uint32_t path = READER_PATH | READER_PATH_EXTENDED, hta = READER_HTA | READER_HTA_QUEUE;
    assert_int_equal(readers_of_launch("cudaLaunchKernel"),
                     READER_LINKER | READER_OLDER_LINKER | path | hta | READER_DLRM);
    assert_int_equal(readers_of_launch("cudaMemcpy"), READER_LINKER);
    assert_int_equal(readers_of_launch("cudaMemsetAsync"), path | hta);
    assert_int_equal(readers_of_launch("cuLaunchKernel"), READER_LINKER | path | READER_HTA_QUEUE);
    assert_int_equal(readers_of_launch("cudaGraphLaunch"), READER_PATH_EXTENDED);
    assert_int_equal(readers_of_launch("cudaLaunchKernel2"), 0);
    assert_int_equal(readers_of_launch("cudalaunchkernel"), 0);
}

static void one_name_has_several_roles(void **state) {
    assert_int_equal(name_to("cudaMemcpyAsync", READER_PATH), NAME_LAUNCH_COPY | NAME_BLOCKING);
    assert_int_equal(name_to("cudaMemcpyAsync", READER_DLRM), NAME_LAUNCH_COPY);
    assert_int_equal(name_to("ncclDevKernel_AllReduce", READER_LINKER), NAME_NCCL | NAME_NCCL_KERNEL);
    assert_int_equal(name_to("nccl:coalesced", READER_LINKER), NAME_NCCL | NAME_COALESCED);
    assert_int_equal(name_to("my NCcL", READER_LINKER), NAME_NCCL);
    assert_int_equal(name_to("ncc", READER_LINKER), 0);
}

static void overview_classifies_launch_delays(void **state) {
    assert_int_equal(name_to("hipDeviceSynchronize", READER_OVERVIEW), NAME_BLOCKING | NAME_HIP);
    assert_int_equal(name_to("cudaGraphLaunch", READER_OVERVIEW), NAME_LAUNCH_KERNEL | NAME_LAUNCH_GRAPH);
    assert_int_equal(name_to("cuModuleLoadData", READER_OVERVIEW), NAME_SETS_UP);
    assert_int_equal(name_to("enumerate(DataLoader)#_X", READER_OVERVIEW), NAME_LOADS_BATCH);
    assert_int_equal(name_to("DataLoader.__init__", READER_OVERVIEW), 0);
}

static void steps_are_found_inside_of_names_with_null_characters(void **state) {
    static const char name[] = "a\0ProfilerStep#7", launch[] = "cudaLaunchKernel\0";
    assert_int_equal(role_of(name, sizeof name - 1, READER_HTA).name, NAME_STEP);
    assert_int_equal(role_of(name, sizeof name - 1, READER_TREE).name, 0);
    assert_int_equal(role_of(launch, sizeof launch - 1, READER_LINKER).name, 0);
}

static void names_and_categories_are_apart(void **state) {
    assert_int_equal(name_to("kernel", READER_HTA), 0);
    assert_int_equal(category_to("kernel", READER_HTA), CATEGORY_KERNEL);
    assert_int_equal(category_to("gpu_memset", READER_LINKER), CATEGORY_SET);
    assert_int_equal(category_to("Operator", READER_DLRM), CATEGORY_CPU_OP);
    assert_int_equal(category_to("Operator", READER_LINKER), 0);
    assert_int_equal(category_to("Operator", READER_TREE), CATEGORY_CPU_OP);
    assert_int_equal(category_to("Runtime", READER_PATH_EXTENDED), CATEGORY_RUNTIME);
    assert_int_equal(category_to("Memset", READER_SUMMARY), CATEGORY_SET);
    assert_int_equal(category_to("", READER_HTA), CATEGORY_EMPTY);
}

static void names_of_hip_are_known_to_be_such_by_all(void **state) {
    assert_int_equal(name_to("hipGraphLaunch", READER_PATH), NAME_HIP);
    assert_int_equal(name_to("hipGraphLaunch", READER_PATH_EXTENDED), NAME_HIP | NAME_LAUNCH_GRAPH);
    assert_int_equal(category_to("hip_runtime", READER_PATH), CATEGORY_HIP);
    assert_int_equal(name_to("hipSomething", READER_PATH), 0);
}

static void user_text_selects_annotation_names(void **state) {
    static const char *const texts[] = {"## step 1", "a ## step", "## STEP", "## step"};
    static const uint32_t marked[][4] = {[TEXT_IS] = {0, 0, 0, 1},
                                         [TEXT_BEGINS] = {1, 0, 0, 1},
                                         [TEXT_HAS] = {1, 1, 0, 1},
                                         [TEXT_HAS_IN_ANY_CASE] = {1, 1, 1, 1}};
    struct strings strings;
    assert_true(strings_init(&strings));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(strings_intern(&strings, texts[i], strlen(texts[i])), i);
    for (size_t how = 0; how < sizeof marked / sizeof *marked; how++) {
        struct string_roles roles[4] = {0};
        names_mark(&strings, roles, (enum comparison)how, "## step", NAME_OWN);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(roles[i].name, marked[how][i] ? NAME_OWN : 0);
    }
    strings_free(&strings);
}

static void only_names_in_use_count_as_steps(void **state) {
    static const char *const texts[] = {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep", "other"};
    struct string_roles roles[4] = {
        {NAME_STEP | NAME_USED, 0}, {NAME_STEP, 0}, {NAME_STEP, CATEGORY_USED}, {NAME_USED, 0}};
    struct strings strings;
    assert_true(strings_init(&strings));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(strings_intern(&strings, texts[i], strlen(texts[i])), i);
    assert_int_equal(names_count_steps(&strings, roles), 2);
    strings_free(&strings);
}

static void kernels_are_classified_by_name(void **state) {
    static const struct {
        const char *name;
        enum kernel_type type;
    } cases[] = {{"ncclDevKernel_AllReduce_Sum_f32", KERNEL_COMMUNICATION},
                 {"nccl AllReduce", KERNEL_COMPUTATION},
                 {"ncclX\nKernel", KERNEL_COMPUTATION},
                 {"my ncclKernel", KERNEL_COMPUTATION},
                 {"Memcpy HtoD (Pinned -> Device)", KERNEL_MEMORY},
                 {"Memset (Device)", KERNEL_MEMORY},
                 {"dma0", KERNEL_MEMORY},
                 {"a Memcpy", KERNEL_OTHER},
                 {"Stream Sync", KERNEL_OTHER},
                 {"a Memset", KERNEL_COMPUTATION},
                 {"", KERNEL_COMPUTATION}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(kernel_type_of(cases[i].name, strlen(cases[i].name)), cases[i].type);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reader_has_its_own_launches),
        cmocka_unit_test(one_name_has_several_roles),
        cmocka_unit_test(overview_classifies_launch_delays),
        cmocka_unit_test(steps_are_found_inside_of_names_with_null_characters),
        cmocka_unit_test(names_and_categories_are_apart),
        cmocka_unit_test(names_of_hip_are_known_to_be_such_by_all),
        cmocka_unit_test(only_names_in_use_count_as_steps),
        cmocka_unit_test(kernels_are_classified_by_name),
        cmocka_unit_test(user_text_selects_annotation_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
