/*
 * test_treemap.c - tests labels of treemap areas: words are broken into as many lines as fit.
 */
#include "analyze/table.h"
#include "report/charts.h"
#include "unit.h"

/* Draws one row in an area of this width, which is 320 high. */
static void draw(const char *group, const char *name, double width, struct markup *markup) {
    static const struct column_spec columns[] = {
        {"group", SUTRA_COLUMN_TEXT}, {"name", SUTRA_COLUMN_TEXT}, {"time_us", SUTRA_COLUMN_REAL}};
    const struct svg svg = {
        .markup = markup, .form = SVG_WIDE, .id = "t", .title = "t", .description = "d", .width = width};
    struct sutra_table table;
    table_init(&table, "t", columns, 3);
    table_words(&table, group);
    table_words(&table, name);
    table_real(&table, 1);
    treemap_draw(&svg, &(struct treemap){.table = &table, .n_rows = 1, .label = 1, .group = 0, .value = 2});
    table_free(&table);
}

/* The lines of text of a drawing, each after its vertical position. */
static void check(const char *group, const char *name, double width, const char *expected) {
    char shown[512] = "";
    struct markup markup = {.title_room = 1000};
    draw(group, name, width, &markup);
    buffer_append(&markup.out.out, "", 1);
    assert_false(markup.out.out.failed);
    for (const char *at = markup.out.out.bytes; (at = strstr(at, "<text"));) {
        const char *y = strstr(at, " y=\"") + 4, *words = strchr(at, '>') + 1;
        at = strstr(words, "</text>");
        if (strncmp(words, "<title>", strlen("<title>")) == 0) /* the full text of a truncated label */
            words = strstr(words, "</title>") + strlen("</title>");
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%.*s %.*s | ", (int)strcspn(y, "\""), y,
                 (int)(at - words), words);
    }
    assert_string_equal(shown, expected);
    buffer_free(&markup.out.out);
}

static void fitting_text_stays_on_one_line(void **state) {
    check("GEMM", "aten::mm", 400, "14 GEMM | 30 aten::mm | ");
    check("aten::mm", "aten::mm", 400, "14 aten::mm | ");
}

static void long_names_wrap_after_punctuation(void **state) {
    check("norm", "aten::native_layer_norm", 100, "14 norm | 30 aten::native_ | 46 layer_norm | ");
    check("norm", "aten::native_layer_norm", 60, "14 norm | 30 aten:: | 46 native_ | 62 lay\xe2\x80\xa6m | ");
    check("aten::native_layer_norm", "aten::native_layer_norm", 100, "14 aten::native_ | 30 layer_norm | ");
}

static void unbreakable_names_are_truncated(void **state) {
    check("", "elementwisekernel", 90, "14 eleme\xe2\x80\xa6rnel | ");
    check("", "elementwisekernel", 60, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitting_text_stays_on_one_line),
        cmocka_unit_test(long_names_wrap_after_punctuation),
        cmocka_unit_test(unbreakable_names_are_truncated),
    };
    return cmocka_run_group_tests_name("treemap", tests, NULL, NULL);
}
