/*
 * test_roofline_chart.c - tests positions of points and roofs of the roofline chart, and its handling of non-finite and
 * zero values.
 */
#include <math.h>

#include "report/charts.h"
#include "unit.h"

static const enum shape shapes[] = {SHAPE_CIRCLE, SHAPE_SQUARE};
static const struct legend_entry legend[] = {{"products", COLOUR_COMPUTE, &shapes[0]},
                                             {"others", COLOUR_COMPUTE, &shapes[1]}};

/* The drawing, 860 pixels wide; to be freed with the markup. */
static const char *draw(struct markup *markup, const struct roofline_chart *chart) {
    const struct svg svg = {
        .markup = markup, .form = SVG_WIDE, .id = "r", .title = "t", .description = "d", .width = 856};
    roofline_draw(&svg, chart);
    buffer_append(&markup->out.out, "", 1);
    assert_false(markup->out.out.failed);
    return markup->out.out.bytes;
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static void points_have_logarithmic_positions(void **state) {
    /* 1 to 100 FLOPs per byte on 800 pixels from 52 on; 1 to 100 TFLOP/s on 300. */
    static const struct roofline_point points[] = {
        {{"aten::mm", 8, false}, 10, 10, 75, 0, 3},
        {{"<small>", 7, false}, 100, 1, 25, SHAPE_SQUARE, 4},
    };
    static const struct roofline_peak peaks[] = {{"matrix bf16", 100}};
    const struct roofline_chart chart = {.points = points,
                                         .n_points = 2,
                                         .us = 100,
                                         .peaks = peaks,
                                         .n_peaks = 1,
                                         .tbytes_per_s = 100,
                                         .legend = legend,
                                         .n_legend = 2};
    struct markup markup = {0};
    const char *text = draw(&markup, &chart);
    assert_int_equal(count(text, " data-row="), 2);
    /* A circle of radius 13 around 452, 192, and a square that is as large as one of radius 7.5 around 852, 342. */
    assert_non_null(strstr(text, "d=\"M439 192a13 13 0 1 0 26 0a13 13 0 1 0 -26 0Z\" fill-rule=\"evenodd\" "
                                 "data-y=\"192\" data-row=\"3\""));
    assert_non_null(strstr(text, "d=\"M845.2 335.2L858.8 335.2L858.8 348.8L845.2 348.8Z\" fill-rule=\"evenodd\" "
                                 "data-y=\"342\" data-row=\"4\""));
    assert_non_null(strstr(text, "&lt;small&gt;: 1.000 TFLOP/s at 100.00 FLOPs per byte, 25 "));
    /* The roof's ridge is at 1 FLOP per byte. */
    assert_non_null(strstr(text, "d=\"M52 42H852\""));
    assert_non_null(strstr(text, "matrix bf16: 100 TFLOP/s"));
    buffer_free(&markup.out.out);
}

static void roof_ascends_to_its_ridge_point(void **state) {
    static const struct roofline_point points[] = {{{"a", 1, false}, 0.1, 1, 1, 0, 0}};
    static const struct roofline_peak peaks[] = {{"matrix bf16", 100}, {"vector bf16", 99}};
    const struct roofline_chart chart = {.points = points,
                                         .n_points = 1,
                                         .peaks = peaks,
                                         .n_peaks = 2,
                                         .tbytes_per_s = 10,
                                         .legend = legend,
                                         .n_legend = 2};
    struct markup markup = {0};
    const char *text = draw(&markup, &chart);
    /* 0.1 to 10 FLOPs per byte, 1 to 100 TFLOP/s: from a corner to the ridge in the other one. */
    assert_non_null(strstr(text, "d=\"M52 342L852 42H852\""));
    assert_null(strstr(text, "vector bf16")); /* its name would lie on the other one */
    assert_int_equal(count(text, "class=\"mean\""), 2);
    buffer_free(&markup.out.out);
}

static void extreme_numbers_stay_inside_the_chart(void **state) {
    static const struct roofline_point points[] = {{{"a", 1, false}, 1e-300, 1e300, 1, 0, 0},
                                                   {{"b", 1, false}, 1e300, 1e-300, 1e9, 1, 1},
                                                   {{"c", 1, false}, 1, 1, 0, 2, 2}};
    const struct roofline_chart some = {.points = points, .n_points = 3, .us = 2, .legend = legend, .n_legend = 2};
    const struct roofline_chart none = {.legend = legend, .n_legend = 2};
    struct markup markup = {0};
    const char *text = draw(&markup, &some);
    assert_int_equal(count(text, " data-row="), 3);
    assert_true(count(text, "<line") < 60);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    buffer_free(&markup.out.out);
    assert_int_equal(count(draw(&markup, &none), " data-row="), 0);
    buffer_free(&markup.out.out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_have_logarithmic_positions),
        cmocka_unit_test(roof_ascends_to_its_ridge_point),
        cmocka_unit_test(extreme_numbers_stay_inside_the_chart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
