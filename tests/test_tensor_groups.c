/*
 * test_tensor_groups.c - tests ids of storages and tensors: corner cases, and random uses against a direct
 * implementation of the rule with a sorted list of pairs.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "match/steps.h"
#include "unit.h"

#define USES_MAX 80
#define NONE     STORAGE_NONE

struct list {
    row_t n;
    uint64_t tensor[USES_MAX], storage[USES_MAX];
    uint32_t device[USES_MAX];
    uint8_t use[USES_MAX];
};

static void find(const struct list *list, bool devices, uint32_t *number, uint32_t *group) {
    struct sutra_error error;
    const struct storage_uses uses = {list->n, list->tensor, list->storage, devices ? list->device : NULL, list->use};
    assert_int_equal(cpu_tensor_groups(NULL, &(struct tensor_groups_step){&uses, number, group}, &error), SUTRA_OK);
}

/* ---- Corner cases ---- */

enum { IN = STORAGE_INPUT, NEW = STORAGE_ALLOCATED, GONE = STORAGE_FREED };

struct drawn {
    const char *name;
    struct {
        uint64_t tensor, storage;
        uint32_t device;
        int use;
        uint32_t number, group;
    } uses[8]; /* ends where tensor and storage are 0 */
};

static const struct drawn cases[] = {
    {"a_tensor_has_the_id_of_its_storage", {{1, 7, 0, IN, 0, 0}, {2, 8, 0, IN, 1, 1}, {3, 7, 0, IN, 0, 0}}},
    {"memory_has_the_id_of_its_storage", {{0, 7, 0, NEW, 0, 0}, {1, 7, 0, IN, 0, 0}, {0, 7, 0, GONE, 0, 0}}},
    {"memory_without_a_tensor_has_no_id", {{0, 7, 0, NEW, 0, NONE}, {1, 8, 0, IN, 1, 0}}},
    {"freed_address_becomes_another_storage", {{1, 7, 0, IN, 0, 0}, {0, 7, 0, GONE, 0, 0}, {2, 7, 0, IN, 1, 1}}},
    {"storages_of_one_tensor_form_a_group", {{1, 7, 0, IN, 0, 0}, {1, 8, 0, IN, 1, 0}, {2, 8, 0, IN, 1, 0}}},
    {"storages_form_a_group_in_any_order", {{0, 7, 0, NEW, 0, 0}, {1, 8, 0, IN, 1, 0}, {1, 7, 0, IN, 0, 0}}},
    {"storage_keeps_its_first_group", /* pairs (0,2) and (1,2) */
     {{1, 7, 0, IN, 0, 0}, {2, 8, 0, IN, 1, 1}, {1, 9, 0, IN, 2, 0}, {2, 9, 0, IN, 2, 0}}},
    {"a_null_storage_is_a_storage", {{1, 0, 0, IN, 0, 0}, {2, 7, 0, IN, 1, 1}, {3, 0, 0, IN, 0, 0}}},
    {"equal_addresses_of_two_devices_differ", {{1, 7, 0, IN, 0, 0}, {2, 7, 1, IN, 1, 1}, {3, 7, 1, IN, 1, 1}}},
};

static void gives_the_drawn_ids(void **state) {
    const struct drawn *drawn = *state;
    struct list list = {0};
    uint32_t number[USES_MAX], group[USES_MAX];
    for (; list.n < 8 && (drawn->uses[list.n].tensor || drawn->uses[list.n].storage); list.n++) {
        list.tensor[list.n] = drawn->uses[list.n].tensor;
        list.storage[list.n] = drawn->uses[list.n].storage;
        list.device[list.n] = drawn->uses[list.n].device;
        list.use[list.n] = (uint8_t)drawn->uses[list.n].use;
    }
    find(&list, true, number, group);
    for (row_t i = 0; i < list.n; i++) {
        assert_int_equal(number[i], drawn->uses[i].number);
        assert_int_equal(group[i], drawn->uses[i].group);
    }
}

/* ---- Random uses ---- */

struct pair {
    uint32_t a, b;
};

static int compare_pairs(const void *left, const void *right) {
    const struct pair *x = left, *y = right;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static bool same_storage(const struct list *list, bool devices, row_t i, row_t j) {
    return list->storage[i] == list->storage[j] && (!devices || list->device[i] == list->device[j]);
}

/* Looks back for an earlier use of the same storage that did not free it. */
static void number_plainly(const struct list *list, bool devices, uint32_t *number) {
    uint32_t n = 0;
    for (row_t i = 0; i < list->n; i++) {
        row_t j = i;
        while (j > 0 && !same_storage(list, devices, j - 1, i))
            j--;
        number[i] = j > 0 && list->use[j - 1] != GONE ? number[j - 1] : n++;
    }
}

static void group_plainly(const struct list *list, const uint32_t *number, uint32_t *group) {
    struct pair pairs[USES_MAX];
    uint32_t of_storage[USES_MAX], n_pairs = 0, n_groups = 0;
    for (row_t i = 0; i < list->n; i++) {
        row_t first = 0;
        if (list->use[i] != IN)
            continue;
        while (list->use[first] != IN || list->tensor[first] != list->tensor[i])
            first++;
        uint32_t a = number[first], b = number[i];
        pairs[n_pairs++] = a < b ? (struct pair){a, b} : (struct pair){b, a};
    }
    qsort(pairs, n_pairs, sizeof *pairs, compare_pairs);
    for (row_t i = 0; i < USES_MAX; i++)
        of_storage[i] = NONE;
    for (uint32_t i = 0; i < n_pairs; i++) {
        if (of_storage[pairs[i].a] == NONE)
            of_storage[pairs[i].a] = n_groups++;
        if (of_storage[pairs[i].b] == NONE)
            of_storage[pairs[i].b] = of_storage[pairs[i].a];
    }
    for (row_t i = 0; i < list->n; i++)
        group[i] = of_storage[number[i]];
}

static void groups_equal_a_direct_implementation_on_random_input(void **state) {
    struct random random = {11};
    print_message("seed %" PRIu64 "\n", random.state);
    for (int round = 0; round < 20000; round++) {
        struct list list = {.n = random_below(&random, USES_MAX)};
        uint32_t tensors = 1 + random_below(&random, 12), storages = 1 + random_below(&random, 12);
        uint32_t number[USES_MAX], group[USES_MAX], plain_number[USES_MAX], plain_group[USES_MAX];
        bool devices = random_below(&random, 2);
        for (row_t i = 0; i < list.n; i++) {
            list.tensor[i] = random_below(&random, tensors);
            list.storage[i] = random_below(&random, storages);
            list.device[i] = random_below(&random, 2);
            list.use[i] = (uint8_t)(random_below(&random, 5) ? IN : random_below(&random, 2) ? NEW : GONE);
        }
        find(&list, devices, number, group);
        number_plainly(&list, devices, plain_number);
        group_plainly(&list, plain_number, plain_group);
        assert_memory_equal(number, plain_number, list.n * sizeof *number);
        assert_memory_equal(group, plain_group, list.n * sizeof *group);
    }
}

#define N_CASES (sizeof cases / sizeof *cases)

int main(void) {
    struct CMUnitTest tests[N_CASES + 1];
    for (size_t i = 0; i < N_CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, gives_the_drawn_ids, NULL, NULL, (void *)&cases[i]};
    tests[N_CASES] = (struct CMUnitTest)cmocka_unit_test(groups_equal_a_direct_implementation_on_random_input);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
