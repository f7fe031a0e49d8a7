/*
 * test_report.c - tests helpers of HTML reports: escaped text, human-readable numbers, axes and durations.
 */
#include <math.h>
#include <time.h>

#include "report/charts.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/sections.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "unit.h"

/* ---- Text ---- */

/* The output with a NUL; valid until the next call. */
static const char *written(struct markup *markup) {
    buffer_append(&markup->out.out, "", 1);
    assert_false(markup->out.out.failed);
    markup->out.out.length = 0;
    return markup->out.out.bytes;
}

static void names_are_shown_as_text(void **state) {
    static const struct {
        const char *name;
        size_t length;
        const char *text;
    } cases[] = {{"aten::mm", 8, "aten::mm"},
                 {"<b a=\"x\" b='y'>&", 16, "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;"},
                 {"a\0b\n\x7f", 5, "a\u2400b\u240a\u2421"},
                 {"\xc2\x85", 2, "\ufffd"}, /* a control character above ASCII */
                 {"\xff"
                  "a\xc3",
                  3, "\ufffda\ufffd"},          /* no UTF-8, and a character that is cut off */
                 {"\xed\xa0\x80", 3, "\ufffd"}, /* a lone surrogate */
                 {"\xef\xbf\xbe", 3, "\ufffd"}, /* U+FFFE, which XML does not have */
                 {"\u202eabc\u2066\u200f", 12, "\ufffdabc\ufffd\ufffd"},
                 {"核\U0001f642é", 9, "核\U0001f642é"}};
    struct markup markup = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        markup_name(&markup, (struct name){cases[i].name, cases[i].length, false});
        assert_string_equal(written(&markup), cases[i].text);
    }
    buffer_free(&markup.out.out);
}

static void long_names_are_cut_in_the_middle(void **state) {
    struct markup markup = {.title_room = 30};
    assert_false(markup_cut(&markup, name_of("short"), 10));
    assert_string_equal(written(&markup), "short");
    struct name name = name_of("aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb");
    assert_true(markup_cut(&markup, name, 10));
    assert_string_equal(written(&markup), "aaaaaaaa\u2026bbbbb");
    name.by_end = true;
    assert_true(markup_cut(&markup, name, 10));
    assert_string_equal(written(&markup), "aa\u2026bbbbbbbbbbb");
    markup_title(&markup, name_of("twenty letters in it"));
    assert_string_equal(written(&markup), "twenty letters in it");
    char large[5000];
    memset(large, 'x', sizeof large);
    markup_title(&markup, (struct name){large, sizeof large, false}); /* there is no more room */
    assert_true(strlen(written(&markup)) < 250);
    buffer_free(&markup.out.out);
}

/* Any bytes are written as UTF-8 without characters that are special in text or attributes, at most as wide as
 * requested. */
static void any_bytes_are_shown_as_text(void **state) {
    unsigned seed = (unsigned)time(NULL);
    struct markup markup = {0};
    printf("seed %u\n", seed);
    srand(seed);
    for (int run = 0; run < 20000; run++) {
        static const char likely[] = "<>&\"'a:\n\xe2\x80\xae\xed\xa0\x80\xf0\x9f\x99\x82\xc2";
        char bytes[24];
        size_t n = (size_t)rand() % sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = rand() % 4 ? likely[(size_t)rand() % (sizeof likely - 1)] : (char)rand();
        struct name name = {bytes, n, rand() % 2};
        double width = 2 + rand() % 12;
        bool cut = rand() % 2;
        if (cut)
            markup_cut(&markup, name, width);
        else
            markup_name(&markup, name);
        const char *text = written(&markup);
        size_t length = strlen(text);
        assert_int_equal(utf8_check(text, length), length);
        for (size_t i = 0; i < length; i++) {
            assert_true((unsigned char)text[i] >= ' ' && text[i] != '\x7f' && !strchr("<>\"'", text[i]));
            if (text[i] == '&')
                assert_true(strncmp(text + i, "&lt;", 4) == 0 || strncmp(text + i, "&gt;", 4) == 0 ||
                            strncmp(text + i, "&amp;", 5) == 0 || strncmp(text + i, "&quot;", 6) == 0 ||
                            strncmp(text + i, "&#39;", 5) == 0);
        }
        if (!cut)
            assert_true((length == 0) == (n == 0));
        else if (markup_width(name) <= width && !memmem(bytes, n, "\u2026", 3))
            assert_null(strstr(text, "\u2026"));
    }
    buffer_free(&markup.out.out);
}

/* ---- Numbers ---- */

static void numbers_have_three_digits_and_a_unit(void **state) {
    static const struct {
        double value;
        enum unit unit;
        const char *text;
    } cases[] = {{0, UNIT_US, "0 µs"},          {0.25, UNIT_US, "0.25 µs"},       {12, UNIT_US, "12 µs"},
                 {12.34, UNIT_US, "12.3 µs"},   {999.2, UNIT_US, "999 µs"},       {999.6, UNIT_US, "1.00 ms"},
                 {123456, UNIT_US, "123 ms"},   {-2500, UNIT_US, "-2.50 ms"},     {3e9, UNIT_US, "3,000 s"},
                 {1e300, UNIT_US, "1e+294 s"},  {33.333, UNIT_PERCENT, "33.3 %"}, {1234567, UNIT_COUNT, "1,234,567"},
                 {1234.5, UNIT_COUNT, "1,234"}, /* halves to even */
                 {0.5, UNIT_COUNT, "0.50"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(shown_figure(cases[i].value, cases[i].unit).text, cases[i].text);
    assert_string_equal(shown_figure(NAN, UNIT_US).text, "n/a");
    assert_string_equal(shown_decimal(-0.04, 1).text, "0.0");
    assert_string_equal(shown_decimal(-1234.56, 1).text, "-1,234.6");
    assert_string_equal(shown_decimal(INFINITY, 1).text, "Infinity");
}

static void unchanged_percents_have_no_sign(void **state) {
    static const struct {
        double percent;
        const char *text;
    } cases[] = {{0, "0.0 %"},      {-0.0, "0.0 %"}, {-0.049, "0.0 %"}, {0.049, "0.0 %"},
                 {-0.06, "-0.1 %"}, {3, "+3.0 %"},   {-50, "-50.0 %"},  {999.94, "+999.9 %"},
                 {1000, "x11"},     {NAN, "-"},      {INFINITY, "xinf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(change_text(cases[i].percent).text, cases[i].text);
    assert_string_equal(share_text(-0.0001, 1).text, "0.0 %");
}

static void axes_have_marks_at_round_numbers(void **state) {
    static const struct {
        double largest;
        enum unit unit;
        int n_most;
        const char *last;
    } cases[] = {{100643, UNIT_US, 8, "100 ms"}, {1999, UNIT_US, 5, "1,500 µs"},  {2000, UNIT_US, 5, "2.0 ms"},
                 {7, UNIT_COUNT, 3, "5"},        {1, UNIT_COUNT, 3, "1"},         {0, UNIT_COUNT, 3, "1"},
                 {0.5, UNIT_COUNT, 3, "1"},      {-3, UNIT_US, 3, "1.0 µs"},      {NAN, UNIT_US, 3, "1.0 µs"},
                 {5e-324, UNIT_US, 3, "1.0 µs"}, {INFINITY, UNIT_US, 3, "1.0 µs"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ticks ticks = ticks_make(cases[i].largest, cases[i].unit, cases[i].n_most);
        assert_string_equal(ticks_text(&ticks, ticks.n - 1).text, cases[i].last);
        assert_true(ticks.n >= 2 && ticks.n <= cases[i].n_most && ticks.end >= ticks.step * (ticks.n - 1));
    }
    for (double largest = 1e-9; largest < 1e30; largest *= 1.7)
        for (int n = 2; n < 12; n++) {
            struct ticks ticks = ticks_make(largest, UNIT_US, n);
            assert_true(ticks.n >= 2 && ticks.n <= n + 1 && ticks.end >= largest);
        }
}

static void distant_values_are_drawn_at_the_axis_end(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{12.34, " x=\"12.3\""},
                 {-0.04, " x=\"0\""},
                 {INFINITY, " x=\"1000000000\""},
                 {-1e300, " x=\"-1000000000\""},
                 {NAN, " x=\"0\""}};
    struct markup markup = {0};
    const struct svg svg = {.markup = &markup};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svg_attribute(&svg, "x", cases[i].value);
        assert_string_equal(written(&markup), cases[i].text);
    }
    buffer_free(&markup.out.out);
}

/* ---- Tables ---- */

static void rows_are_sorted_by_sums(void **state) {
    static const struct column_spec specs[] = {{"a", SUTRA_COLUMN_INTEGER}, {"b", SUTRA_COLUMN_REAL}};
    static const struct {
        int64_t a;
        double b;
    } rows[] = {{1, 2}, {5, 0}, {3, NAN}, {2, 1}, {4, 1}};
    static const int64_t expected[] = {5, 4, 1, 2, 3}; /* equal values in input order, NaN last */
    struct sutra_table table;
    table_init(&table, "t", specs, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        table_integer(&table, rows[i].a);
        table_real(&table, rows[i].b);
    }
    table_sort_descending(&table, 0, 1);
    assert_false(table.failed);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(table_get_integer(&table, 0, i), expected[i]);
    table_free(&table);
}

/* Bins of two ranks, of which the second one's begin earlier, go over one another. */
static void durations_of_ranks_are_added_up(void **state) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},       {"from_us", SUTRA_COLUMN_REAL},
                                               {"below_us", SUTRA_COLUMN_REAL},      {"kernels", SUTRA_COLUMN_INTEGER},
                                               {"percent", SUTRA_COLUMN_REAL},       {"device_us", SUTRA_COLUMN_REAL},
                                               {"device_percent", SUTRA_COLUMN_REAL}};
    static const struct {
        double from_us, below_us;
        int64_t kernels;
    } bins[] = {{2, 5, 3}, {5, 10, 4}, {0.5, 1, 6}, {0, 0.001, 2}, {1, 2, 0}, {2, 5, 1}};
    static const struct {
        const char *takes;
        int64_t kernels;
    } expected[] = {{"below 1 \u00b5s", 8},
                    {"1 \u00b5s to 2 \u00b5s", 0},
                    {"2 \u00b5s to 5 \u00b5s", 4},
                    {"5 \u00b5s to 10 \u00b5s", 4}};
    struct sutra_table from, table;
    table_init(&from, "kernel_durations", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        table_integer(&from, i > 1);
        table_real(&from, bins[i].from_us);
        table_real(&from, bins[i].below_us);
        table_integer(&from, bins[i].kernels);
        table_real(&from, 0);
        table_real(&from, (double)bins[i].kernels * bins[i].from_us);
        table_real(&from, 0);
    }
    durations_table(&table, &from);
    assert_false(table.failed);
    assert_int_equal(table.n_rows, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t length;
        assert_string_equal(table_get_text(&table, table_column(&table, "takes"), i, &length), expected[i].takes);
        assert_int_equal(table_get_integer(&table, table_column(&table, "kernels"), i), expected[i].kernels);
    }
    assert_true(table_get_real(&table, table_column(&table, "device_us"), 2) == 8);
    assert_true(table_get_real(&table, table_column(&table, "percent"), 2) == 25);
    table_free(&table);
    table_free(&from);
}

/* ---- Columns, colours, squares ---- */

static void columns_have_units_in_their_heads(void **state) {
    static const struct {
        const char *table, *column, *words, *unit;
    } cases[] = {{"idle", "host_wait_us", "host wait", "µs"},
                 {"rank_summary", "idle_time(us)", "idle time", "µs"},
                 {"top_kernels", "share_pctg", "share", "%"},
                 {"rates", "tflops_per_s", "rate", "TFLOP/s"},
                 {"rates", "mbytes", "moved", "MB"},
                 {"launch_calls", "delay_max", "delay max", "µs"},
                 {"memory_bw_summary", "max", "max", "GB/s"},
                 {"queue_length_summary", "50%", "50%", "kernels"},
                 {"kernels", "calls", "calls", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heading heading = heading_of(cases[i].table, cases[i].column);
        assert_string_equal(heading.words, cases[i].words);
        assert_string_equal(heading.unit, cases[i].unit);
    }
    assert_true(heading_of_kernels("top_kernels", "name"));
    assert_false(heading_of_kernels("top_operators", "name"));
    assert_false(heading_of_kernels("top_operators", "kernels"));
}

static void color_shows_the_activity_kind(void **state) {
    static const struct {
        const char *name;
        enum colour of_work, of_operator;
    } cases[] = {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", COLOUR_COMMUNICATION, COLOUR_COMMUNICATION},
                 {"void vllm::cross_device_all_reduce<2>()", COLOUR_COMMUNICATION, COLOUR_COMMUNICATION},
                 {"triton_poi_fused_all_reduce", COLOUR_COMPUTE, COLOUR_COMPUTE},
                 {"Memcpy HtoD (Pageable -> Device)", COLOUR_COPIES, COLOUR_COPIES},
                 {"ampere_sgemm_128x64_nn", COLOUR_COMPUTE, COLOUR_COMPUTE},
                 {"record_param_comms", COLOUR_COMPUTE, COLOUR_COMMUNICATION},
                 {"", COLOUR_COMPUTE, COLOUR_COMPUTE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(colour_of_work(cases[i].name, strlen(cases[i].name)), cases[i].of_work);
        assert_int_equal(colour_of_operator(cases[i].name, strlen(cases[i].name)), cases[i].of_operator);
    }
}

static void many_ranks_are_squares(void **state) {
    static const struct column_spec specs[] = {
        {"rank", SUTRA_COLUMN_INTEGER}, {"idle_us", SUTRA_COLUMN_REAL}, {"none_us", SUTRA_COLUMN_REAL}};
    struct sutra_table table;
    struct markup markup = {0};
    const struct svg svg = {
        .markup = &markup, .form = SVG_WIDE, .id = "r", .title = "t", .description = "d", .width = 860};
    table_init(&table, "ranks", specs, 3);
    for (int rank = 0; rank < 40; rank++) {
        table_integer(&table, rank);
        table_real(&table, rank == 39 ? NAN : rank * 100.0);
        table_real(&table, 0);
    }
    const struct bars bars = {.table = &table,
                              .n_rows = 40,
                              .n_labels = 1,
                              .values = {{1, "idle", COLOUR_IDLE}, {2, "none", COLOUR_COPIES}},
                              .n_values = 2,
                              .unit = UNIT_US};
    heat_draw(&svg, &bars);
    const char *text = written(&markup);
    /* The second line begins with rank 32; rank 38 is the fullest; what is 0 everywhere is not there. */
    assert_non_null(strstr(text, ">idle, up to 3.80 ms</text>"));
    assert_non_null(strstr(text, ">rank 32</text>"));
    assert_non_null(strstr(text, "fill-opacity=\"0.50\" data-row=\"19\" data-column=\"idle_us\" data-value=\"1900"));
    assert_non_null(strstr(text, "fill-opacity=\"1.00\" data-row=\"38\""));
    assert_non_null(strstr(text, "fill-opacity=\"0.05\" data-row=\"39\" data-column=\"idle_us\" data-value=\"NaN\""));
    assert_null(strstr(text, "none"));
    buffer_free(&markup.out.out);
    table_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_shown_as_text),
        cmocka_unit_test(long_names_are_cut_in_the_middle),
        cmocka_unit_test(any_bytes_are_shown_as_text),
        cmocka_unit_test(numbers_have_three_digits_and_a_unit),
        cmocka_unit_test(unchanged_percents_have_no_sign),
        cmocka_unit_test(axes_have_marks_at_round_numbers),
        cmocka_unit_test(distant_values_are_drawn_at_the_axis_end),
        cmocka_unit_test(rows_are_sorted_by_sums),
        cmocka_unit_test(durations_of_ranks_are_added_up),
        cmocka_unit_test(columns_have_units_in_their_heads),
        cmocka_unit_test(color_shows_the_activity_kind),
        cmocka_unit_test(many_ranks_are_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
