/*
 * test_step_names.c - which annotations are steps of PyTorch's profiler, by the rules of each tool.
 */
#include "facts/profiler_steps.h"
#include "unit.h"

/* Bits 1 << enum step_rules: the rules by which the name is a step. */
#define RULE(rules) (1U << (rules))
#define ALL_RULES   (RULE(STEPS_MEMORY + 1) - 1)

static void steps_are_recognized_by_the_rules_of_each_tool(void **state) {
    static const struct {
        const char *name;
        unsigned rules;
        const char *number; /* where a rule has one */
    } cases[] = {
        {"ProfilerStep#7", ALL_RULES, "7"},
        {"ProfilerStep#12345", ALL_RULES, "12345"},
        {"ProfilerStep", RULE(STEPS_RATES), NULL},
        {"ProfilerStep #7", RULE(STEPS_RATES) | RULE(STEPS_HTA), "7"},
        {"ProfilerStep#x", RULE(STEPS_RATES) | RULE(STEPS_SELECTION), "x"},
        {"my ProfilerStep#7", RULE(STEPS_SELECTION), "7"},
        {"profilerstep#7", 0, NULL},
        {"aten::add", 0, NULL},
        {"", 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned rules = STEPS_RATES; rules <= STEPS_MEMORY; rules++) {
            const char *number = profiler_step_number(cases[i].name, strlen(cases[i].name), (enum step_rules)rules);
            if ((number != NULL) != (cases[i].rules >> rules & 1))
                fail_msg("'%s' by rules %u: %s", cases[i].name, rules, number ? "a step" : "not a step");
            if (number && rules != STEPS_RATES)
                assert_string_equal(number, cases[i].number);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_recognized_by_the_rules_of_each_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
