/*
 * test_flops.c - tests FLOPs and bytes of operators, by sutra's and by TraceLens' rules, against values computed by
 * hand.
 */
#include <math.h>

#include "facts/flops.h"
#include "unit.h"

/* A column that is -1: unknown, and NONE for both: no count at all. */
#define UNKNOWN (-1.0)
#define NONE    (-2.0), (-2.0)

struct answer {
    const char *name, *shapes, *types, *strides, *values;
    double flops, bytes, tracelens_flops, tracelens_bytes;
};

static struct op_flops ask(const struct answer *of, enum flops_rules rules) {
    struct op_inputs_parser parser = {0};
    struct op_inputs inputs;
    const char *texts[] = {of->shapes, of->types, of->strides, of->values};
    struct input_text list[4] = {{NULL, 0}};
    for (int i = 0; i < 4; i++)
        if (texts[i])
            list[i] = (struct input_text){texts[i], strlen(texts[i])};
    assert_true(op_inputs_parse(&parser, &(struct op_input_texts){list[0], list[1], list[2], list[3]}, &inputs));
    enum op_table table = rules == FLOPS_TRACELENS ? OP_TABLE_TRACELENS : OP_TABLE_ALL;
    struct op_flops found = op_flops_find(op_kind_find(of->name, strlen(of->name), table), &inputs, rules);
    op_inputs_parser_free(&parser);
    return found;
}

static void assert_answer(const struct answer *of, enum flops_rules rules, double flops, double bytes) {
    struct op_flops found = ask(of, rules);
    double is_flops = found.missing ? -2 : found.flops;
    double is_bytes = found.missing ? -2 : isnan(found.bytes) ? UNKNOWN : found.bytes;
    if (is_flops != flops || is_bytes != bytes)
        fail_msg("%s %s, rules %d: %.17g FLOPs and %.17g bytes, not %.17g and %.17g (%s)", of->name, of->shapes,
                 (int)rules, is_flops, is_bytes, flops, bytes, found.missing ? found.missing : "known");
}

static void assert_answers(const struct answer *answers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        assert_answer(&answers[i], FLOPS_OURS, answers[i].flops, answers[i].bytes);
        assert_answer(&answers[i], FLOPS_TRACELENS, answers[i].tracelens_flops, answers[i].tracelens_bytes);
    }
}

#define ASSERT_ANSWERS(answers) assert_answers(answers, sizeof(answers) / sizeof *(answers))

/* (2, 3) x (3, 5): 2*2*3*5 = 60 and 6 + 15 + 10 elements. */
static void matrix_products_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        {"aten::mm", "[[2, 3], [3, 5]]", "['float', 'float']", "[[3, 1], [5, 1]]", "['', '']", 60, 124, 60, 124},
        {"aten::mm", "[[2, 3], [3, 5]]", "['c10::Half', 'float']", NULL, NULL, 60, 12 + 60 + 20, 60, 62},
        {"aten::mm", "[[2, 3], [3, 5]]", "['bool', 'bool']", NULL, NULL, 60, 31, 60, UNKNOWN},
        {"aten::mm", "[[2, 3], [4, 5]]", "['float', 'float']", NULL, NULL, NONE, 60, 124},
        {"aten::mm", "[[2, 3]]", "['float', 'float']", NULL, NULL, NONE, NONE},
        {"aten::mm", NULL, NULL, NULL, NULL, NONE, NONE},
        {"aten::mm", "[[0, 3], [3, 5]]", "['float', 'float']", NULL, NULL, 0, 60, 0, 60},
        /* the second operand is one column, expanded: 3 elements are there */
        {"aten::mm", "[[2, 3], [3, 5]]", "['float', 'float']", "[[3, 1], [1, 0]]", NULL, 60, 4 * (6 + 3 + 10), 60, 124},
        /* written as double */
        {"aten::mm", "[[2, 3], [3, 5], [2, 5]]", "['float', 'float', 'double']", NULL, NULL, 60, 4 * 21 + 8 * 10, 60,
         124},
        {"aten::_int_mm", "[[2, 3], [3, 5]]", "['signed char', 'signed char']", NULL, NULL, 60, 21 + 40, NONE},
        /* a bias of 5 elements: an addition for each of 10 results */
        {"aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', 'Scalar', 'Scalar']", NULL,
         "['', '', '', '1', '1']", 70, 4 * (5 + 31), 70, 4 * (5 + 31)},
        /* as large as the result; with beta = 0 it is not read */
        {"aten::addmm", "[[2, 5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', 'Scalar', 'Scalar']", NULL,
         "['', '', '', '1', '1']", 70, 4 * (10 + 31), 70, 4 * (5 + 31)},
        {"aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', 'Scalar', 'Scalar']", NULL,
         "['', '', '', '0', '1']", 60, 124, 70, 4 * (5 + 31)},
        {"aten::bmm", "[[7, 2, 3], [7, 3, 5]]", "['float', 'float']", NULL, NULL, 420, 868, 420, 868},
        /* one matrix for all of the batch */
        {"aten::bmm", "[[7, 2, 3], [7, 3, 5]]", "['float', 'float']", "[[6, 3, 1], [0, 5, 1]]", NULL, 420,
         4 * (42 + 15 + 70), 420, 868},
        {"aten::bmm", "[[2, 3], [3, 5]]", "['float', 'float']", NULL, NULL, NONE, NONE},
        {"aten::baddbmm", "[[7, 2, 5], [7, 2, 3], [7, 3, 5], [], []]", "['float', 'float', 'float', '', '']", NULL,
         "['', '', '', '1', '1']", 490, 868 + 280, 490, 868 + 4 * 5 * 7},
        {"aten::_scaled_mm", "[[2, 3], [3, 5], [], [], [5], [], [], []]",
         "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'float', 'float', 'c10::BFloat16', '', 'Scalar', 'Scalar']",
         NULL, "['', '', '', '', '', '', '15', 'True']", 70, 21 + 20 + 10, 60, 21 + 20},
        {"aten::_scaled_mm", "[[2, 3], [3, 5], [], [], [], [], [], []]",
         "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'float', 'float', '', '', 'Scalar', 'Scalar']", NULL,
         "['', '', '', '', '', '', '6', 'True']", 60, 21 + 40, 60, 21 + 20},
        /* two numbers in an element */
        {"aten::_scaled_mm", "[[2, 3], [3, 5]]", "['c10::Float4_e2m1fn_x2', 'c10::Float4_e2m1fn_x2']", NULL,
         "['', '', '', '', '', '', '15']", 120, 21 + 20, 60, 21 + 20},
    };
    ASSERT_ANSWERS(answers);
}

/* 2 images of 3 channels, 8 x 8; 4 filters of 3 x 3 without edges: 6 x 6. */
#define CONV_VALUES(transposed, groups)                                                                                \
    "['', '', '', '[1, 1]', '[0, 0]', '[1]', '" transposed "', '[0, 0]', '" groups "']"

static void convolutions_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        {"aten::convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]", "['float', 'float', '']",
         NULL, CONV_VALUES("False", "1"), 2. * 27 * 288, 4 * (384 + 108 + 288), 2. * 27 * 288, 4 * (384 + 108 + 288)},
        /* with a bias of 4, which TraceLens does not see */
        {"aten::convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]",
         "['float', 'float', 'float']", NULL, CONV_VALUES("False", "1"), 2. * 27 * 288 + 288, 4 * (384 + 108 + 288 + 4),
         2. * 27 * 288, 4 * (384 + 108 + 288)},
        /* stride 2, padding 1, dilation 2: trunc((8 + 2 - 4 - 1) / 2 + 1) = 3 */
        {"aten::convolution", "[[1, 1, 8], [1, 1, 3], [], [], [], [], [], [], []]", "['float', 'float', '']", NULL,
         "['', '', '', '[2]', '[1]', '[2]', 'False', '[0]', '1']", 2 * 3 * 3, 4 * (8 + 3 + 3), 18, 56},
        /* not recorded: stride 1, no padding */
        {"aten::convolution", "[[1, 1, 8], [1, 1, 3], [], [], [], [], [], [], []]", "['float', 'float', '']", NULL,
         "['', '', '', '', '', '', 'False', '', '1']", 2 * 3 * 6, 4 * (8 + 3 + 6), 36, 68},
        /* transposed, 2 groups: 4 channels in, 2 * 3 out, of length (4 - 1) * 2 + 2 + 1 + 1 - 1 = 9 + 0 */
        {"aten::convolution", "[[1, 4, 4], [4, 3, 3], [], [], [], [], [], [], []]", "['float', 'float', '']", NULL,
         "['', '', '', '[2]', '[0]', '[1]', 'True', '[0]', '2']", 2 * 9 * 16, 4 * (16 + 36 + 54), 288,
         4 * (16 + 36 + 27)},
        {"aten::convolution", "[[1, 4, 4], [4, 3, 3], [], [], [], [], [], [], []]", "['float', 'c10::Half', '']", NULL,
         "['', '', '', '[2]', '[0]', '[1]', 'False', '[0]', '1']", 2 * 9 * 4, 4 * 16 + 2 * 36 + 4 * 4, NONE},
        {"aten::convolution", "[[1, 4], [4, 3], []]", "['float', 'float', '']", NULL, CONV_VALUES("False", "1"), NONE,
         NONE},
        {"aten::convolution", "[[1, 1, 8], [1, 1, 3]]", "['float', 'float']", NULL, NULL, NONE, NONE},
        {"aten::convolution", "[[1, 1, 8], [1, 1, 3]]", "['float', 'float']", NULL,
         "['', '', '', '[0]', '', '', 'False', '', '1']", NONE, NONE},
        {"aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]",
         "['float', 'float', 'ScalarList']", NULL,
         "['', '', '[0, 0]', '[1, 1]', '[1, 1]', '1', 'False', 'False', 'True']", 2. * 27 * 288, 4 * (384 + 108 + 288),
         NONE},
        {"aten::miopen_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], []]", "['float', 'float', 'float']",
         NULL, "['', '', '', '[0, 0]', '[1, 1]', '[1, 1]', '1']", 2. * 27 * 288 + 288, 4 * (384 + 108 + 288 + 4), NONE},
    };
    ASSERT_ANSWERS(answers);
}

#define BACKWARD_VALUES(mask) "['', '', '', '[4]', '[1, 1]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1', '" mask "']"

static void convolution_gradients_have_flops_and_bytes(void **state) {
    static const char shapes[] = "[[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []]";
    static const char types[] = "['float', 'float', 'float', 'ScalarList']";
    const double product = 2. * 27 * 288, all = 384 + 108 + 288;
    const struct answer answers[] = {
        {"aten::convolution_backward", shapes, types, NULL, BACKWARD_VALUES("[True, True, True]"), 2 * product + 288,
         4 * (2 * all + 288 + 4), 2 * product, 8 * all},
        {"aten::convolution_backward", shapes, types, NULL, BACKWARD_VALUES("[False, True, False]"), product, 4 * all,
         2 * product, 8 * all},
        {"aten::convolution_backward", shapes, types, NULL, BACKWARD_VALUES("[True, False, False]"), product, 4 * all,
         2 * product, 8 * all},
        /* the sizes of a bias, which no trace has there: elements, not bytes */
        {"aten::convolution_backward", "[[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3], [4]]", types, NULL,
         BACKWARD_VALUES("[True, True, False]"), 2 * product, 8 * all, 2 * product + 288, 8 * all + 288 + 4},
        /* transposed: 4 channels of length 4 to 3 of length 9 */
        {"aten::convolution_backward", "[[1, 3, 9], [1, 4, 4], [4, 3, 3]]", types, NULL,
         "['', '', '', '', '[2]', '[0]', '[1]', 'True', '[0]', '1', '[True, True, False]']", 2 * 2 * 9 * 16,
         2 * 4 * (27 + 16 + 36), 576, 2 * 4 * (27 + 16 + 36)},
    };
    ASSERT_ANSWERS(answers);
}

/* 2 x 3 heads, 8 queries and 8 keys of width 16: 2 * 2 * 3 * 64 * 32 = 24576. */
static void attention_has_flops_and_bytes(void **state) {
    static const char same[] = "[[2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [], [], [], []]";
    static const char half[] = "['c10::Half', 'c10::Half', 'c10::Half', '', '', '', '']";
    static const char single[] = "['float', 'float', 'float', '', '', '', '']";
    const double flops = 24576, elements = 768;
    const struct answer answers[] = {
        {"aten::_scaled_dot_product_flash_attention", same, half, NULL, "['', '', '', '0.', 'False', 'False', '']",
         flops, 8 * elements, flops, 8 * elements},
        {"aten::_scaled_dot_product_flash_attention", same, half, NULL, "['', '', '', '0.', 'True', 'False', '']",
         flops / 2, 8 * elements, flops / 2, 8 * elements},
        {"aten::_scaled_dot_product_flash_attention", same, half, NULL, NULL, flops, 8 * elements, NONE},
        {"aten::_scaled_dot_product_efficient_attention", same, single, NULL,
         "['', '', '', '', 'True', '0.', 'True', '']", flops / 2, 16 * elements, flops / 2, 8 * elements},
        /* a bias that is expanded over heads: 8 x 8 */
        {"aten::_scaled_dot_product_cudnn_attention",
         "[[2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 8], [], [], []]",
         "['c10::Half', 'c10::Half', 'c10::Half', 'c10::Half', '', '', '']",
         "[[384, 128, 16, 1], [384, 128, 16, 1], [384, 128, 16, 1], [0, 0, 8, 1], [], [], []]",
         "['', '', '', '', 'True', '0.', 'False', '']", flops, 8 * elements + 128, flops, 8 * elements},
        /* 4 queries, 8 keys: the first 4 x 4 are halved, and no more are met */
        {"aten::_scaled_dot_product_efficient_attention", "[[1, 1, 4, 16], [1, 1, 8, 16], [1, 1, 8, 16]]", half, NULL,
         "['', '', '', '', 'True', '0.', 'True', '']", 2 * 8 * 32, 2 * (64 + 128 + 128 + 64), NONE},
        /* 6 heads share 2: keys and values are fewer */
        {"flash_attn::_flash_attn_forward", "[[2, 8, 6, 16], [2, 8, 2, 16], [2, 8, 2, 16], [], [], []]", half,
         "[[1,1,1,1], [1,1,1,1], [1,1,1,1]]", "['', '', '', '0.0', '0.25', 'False']", 2 * flops,
         2 * 2 * (2 * 768 + 512), 2 * flops, 4 * (2 * 768 + 512)},
        /* the last keys: 4 * 8 - 8 pairs */
        {"flash_attn::_flash_attn_forward", "[[1, 4, 1, 16], [1, 8, 1, 16], [1, 8, 1, 16], [], [], []]", half,
         "[[1,1,1,1], [1,1,1,1], [1,1,1,1]]", "['', '', '', '0.0', '0.25', 'True']", 2 * 24 * 32,
         2 * (64 + 128 + 128 + 64), NONE},
        /* 3 sequences of 20 in all, of 8 at most: two of 6 */
        {"flash_attn::_flash_attn_varlen_forward",
         "[[20, 3, 16], [20, 3, 16], [20, 3, 16], [4], [4], [], [], [], [], []]",
         "['c10::Half', 'c10::Half', 'c10::Half', 'int', 'int']", "[[48, 16, 1], [48, 16, 1], [48, 16, 1], [1], [1]]",
         "['', '', '', '', '', '8', '8', '0.0', '0.25', 'False']", 2 * 3 * (64 + 72) * 32., 2 * 4 * 960,
         2 * 3 * (64 + 72) * 32., 2 * 4 * 960},
        {"aten::_flash_attention_forward", "[[2, 8, 3, 16], [2, 8, 3, 16], [2, 8, 3, 16], [], [], [], [], [], []]",
         half, NULL, "['', '', '', '', '', '8', '8', '0.', 'False', 'False']", flops, 8 * elements, NONE},
        {"aten::_efficient_attention_forward", "[[2, 8, 3, 16], [2, 8, 3, 16], [2, 8, 3, 16]]", half, NULL,
         "['', '', '', '', '', '', '', '', '0.', '1', 'False']", flops / 2, 8 * elements, NONE},
        {"aten::_scaled_dot_product_flash_attention", "[[2, 3, 8, 16], [2, 3, 8, 15], [2, 3, 8, 16]]", half, NULL,
         "['', '', '', '0.', 'False', 'False', '']", NONE, NONE},
        {"aten::_scaled_dot_product_flash_attention", "[[3, 8, 16], [3, 8, 16], [3, 8, 16]]", half, NULL,
         "['', '', '', '0.', 'False', 'False', '']", NONE, NONE},
    };
    ASSERT_ANSWERS(answers);
}

/* 2 * 2 * 3 * 64 * 16 = 12288 for each product. */
static void attention_gradients_have_flops_and_bytes(void **state) {
    static const char half[] = "['c10::Half', 'c10::Half', 'c10::Half', 'c10::Half', 'c10::Half']";
    const double product = 12288, elements = 768;
    const struct answer answers[] = {
        {"aten::_scaled_dot_product_flash_attention_backward",
         "[[2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16]]", half, NULL,
         "['', '', '', '', '', '', '', '', '8', '8', '0.', 'False']", 5 * product, 2 * 8 * elements, NONE},
        {"aten::_scaled_dot_product_efficient_attention_backward",
         "[[2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 16], [], [2, 3, 8, 16]]",
         "['c10::Half', 'c10::Half', 'c10::Half', 'c10::Half', '', 'c10::Half']", NULL,
         "['', '', '', '', '', '', '', '', '', '0.', '[True, True, True, False]', 'True']", 2.5 * product,
         2 * 8 * elements, NONE},
        {"flash_attn::_flash_attn_backward",
         "[[2, 8, 3, 16], [2, 8, 3, 16], [2, 8, 3, 16], [2, 8, 3, 16], [2, 8, 3, 16]]", half,
         "[[1,1,1,1], [1,1,1,1], [1,1,1,1], [1,1,1,1]]", NULL, 5 * product, 2 * 8 * elements, 2.5 * product,
         2 * 7 * elements},
        /* 6 heads share 2: two more sums of 2 * 8 * 32 elements */
        {"flash_attn::_flash_attn_backward",
         "[[2, 8, 6, 16], [2, 8, 6, 16], [2, 8, 2, 16], [2, 8, 2, 16], [2, 8, 6, 16]]", half,
         "[[1,1,1,1], [1,1,1,1], [1,1,1,1], [1,1,1,1]]", "['', '', '', '', '', '', '', '', '0.0', '0.25', 'False']",
         10 * product + 2 * 2 * 8 * 32, 2 * (4 * 1536 + 4 * 512), 10 * product + 2 * 2 * 8 * 32,
         2 * (3 * 1536 + 4 * 512)},
    };
    ASSERT_ANSWERS(answers);
}

static void elementwise_operators_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        {"aten::sigmoid", "[[4, 5]]", "['float']", "[[5, 1]]", "['']", 20, 160, 20, 160},
        {"aten::sigmoid", "[[4, 5]]", "['float']", NULL, NULL, 20, 160, NONE},
        {"aten::sigmoid", "[[4, 5], [4, 5]]", "['c10::Half', 'float']", "[[5, 1], [5, 1]]", "['', '']", 20, 120, 20,
         120},
        {"aten::add", "[[4, 5], [4, 5], []]", "['float', 'float', 'Scalar']", "[[5, 1], [5, 1], []]", NULL, 20, 240, 20,
         240},
        {"aten::add", "[[4, 5], [5], []]", "['c10::Half', 'float', 'Scalar']", "[[5, 1], [1], []]", NULL, 20,
         40 + 20 + 80, 20, 40 + 20 + 80},
        {"aten::add_", "[[4, 5], [5], []]", "['c10::Half', 'float', 'Scalar']", "[[5, 1], [1], []]", NULL, 20,
         40 + 20 + 40, 20, 40 + 20 + 80},
        /* a number is no memory */
        {"aten::mul", "[[4, 5], []]", "['float', 'Scalar']", "[[5, 1], []]", NULL, 20, 160, 20, 164},
        /* a tensor without dimensions is one element, and does not widen the result */
        {"aten::mul", "[[4, 5], []]", "['c10::Half', 'float']", "[[5, 1], []]", NULL, 20, 40 + 4 + 40, 20, 40 + 4 + 40},
        {"aten::mul", "[[4, 5], [4, 5]]", "['long int', 'c10::Half']", "[[5, 1], [5, 1]]", NULL, 20, 160 + 40 + 40, 20,
         160 + 40 + 160},
        /* expanded */
        {"aten::mul", "[[4, 5], [4, 5]]", "['float', 'float']", "[[5, 1], [0, 1]]", NULL, 20, 80 + 20 + 80, 20, 240},
        {"aten::mul", "[[4, 5], [4, 5]]", "['bool', 'bool']", "[[5, 1], [5, 1]]", NULL, 20, 60, 20, UNKNOWN},
        {"aten::mul", "[[4, 5], [3]]", "['float', 'float']", "[[5, 1], [1]]", NULL, NONE, NONE},
        {"aten::add", "[[4, 5], [4, 5], [], [4, 5]]", "['float', 'float', 'Scalar', 'float']",
         "[[5, 1], [5, 1], [], [5, 1]]", NULL, 20, 240, 20, 240},
        {"aten::pow", "[[4, 5], [4, 5]]", "['float', 'float']", "[[5, 1], [5, 1]]", NULL, 20, 240, 20, 160},
        {"aten::sub", "[[4, 5], [4, 5], []]", "['float', 'float', 'Scalar']", NULL, NULL, 20, 240, NONE},
        {"aten::where", "[[4, 5], [4, 5], []]", "['bool', 'float', 'float']", NULL, NULL, 20, 20 + 80 + 4 + 80, NONE},
        {"aten::eq", "[[4, 5], []]", "['long int', 'Scalar']", NULL, NULL, 20, 180, NONE},
        {"aten::exp", "[[]]", "['Scalar']", NULL, NULL, NONE, NONE},
        {"aten::gelu", "[[4, 5]]", "['Tensor(c10::Half)']", NULL, NULL, 20, 80, NONE},
    };
    ASSERT_ANSWERS(answers);
}

static void copies_have_no_flops(void **state) {
    static const struct answer answers[] = {
        {"aten::copy_", "[[4, 5], [4, 5], []]", "['c10::Half', 'float', 'Scalar']", "[[5, 1], [5, 1], []]", NULL, 0,
         120, 20, 120},
        {"aten::copy_", "[[4, 5], [5], []]", "['float', 'float', 'Scalar']", "[[5, 1], [1], []]", NULL, 0, 80 + 20, 20,
         160},
        {"aten::clone", "[[4, 5], []]", "['float', '']", NULL, NULL, 0, 160, NONE},
        {"aten::_to_copy", "[[4, 5], []]", "['float', 'Scalar']", NULL, "['', '15']", 0, 80 + 40, NONE},
        {"aten::fill_", "[[4, 5], []]", "['float', 'Scalar']", NULL, NULL, 0, 80, NONE},
        {"aten::cat", "[[[2, 3], [2, 5]], []]", "['GenericList[Tensor(float),Tensor(float)]', 'Int']", NULL, NULL, 0,
         128, NONE},
        {"aten::cat", "[[[2, 3], [2, 5]], []]", "['TensorList', 'Scalar']", NULL, NULL, 0, UNKNOWN, NONE},
        {"aten::upsample_nearest2d", "[[1, 2, 3, 3], [], []]", "['float', 'ScalarList', '']", "[[1,1,1,1]]",
         "['', '[6, 6]', '']", 0, 4 * (18 + 72), 72, 4 * (18 + 72)},
        {"aten::replication_pad2d", "[[1, 2, 3, 3], []]", "['float', 'ScalarList']", "[[1,1,1,1]]",
         "['', '[1, 1, 0, 2]']", 0, 4 * (18 + 50), 50, 4 * (18 + 50)},
        {"_C::silu_and_mul", "[[4, 5], [4, 10]]", "['c10::Half', 'c10::Half']", "[[5, 1], [10, 1]]", "['', '']", 100,
         2 * 60, 100, 2 * 60},
    };
    ASSERT_ANSWERS(answers);
}

static void lists_of_tensors_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        {"aten::_foreach_add_", "[[[2, 3], [4]], [[2, 3], [4]], []]",
         "['GenericList[Tensor(float)]', 'GenericList[Tensor(float)]', 'Double']", NULL, NULL, 10, 120, NONE},
        {"aten::_foreach_zero_", "[[[2, 3], [4]]]", "['GenericList[Tensor(float)]']", NULL, NULL, 0, 40, NONE},
        {"aten::_foreach_copy_", "[[[2, 3], [4]], [[2, 3], [4]]]",
         "['GenericList[Tensor(float)]', 'GenericList[Tensor(float)]']", NULL, NULL, 0, 80, NONE},
        {"aten::_foreach_norm", "[[[2, 3], [4]], []]", "['GenericList[Tensor(float)]', 'Int']", NULL, NULL, 10, 48,
         NONE},
        {"aten::_foreach_add_", "[[2, 3], []]", "['Tensor(float)', 'Int']", NULL, NULL, NONE, NONE},
        /* parameters, gradients and two states, and counts of steps */
        {"aten::_fused_adamw_", "[[[2, 3], [4]], [[2, 3], [4]], [[2, 3], [4]], [[2, 3], [4]], [], [[], []], []]",
         "['GenericList[Tensor(float)]', 'GenericList[Tensor(float)]', 'GenericList[Tensor(float)]', "
         "'GenericList[Tensor(float)]', 'GenericList[]', 'GenericList[Tensor(float)]', 'Double']",
         NULL, NULL, 80, 4 * (40 + 30), NONE},
    };
    ASSERT_ANSWERS(answers);
}

static void reductions_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        {"aten::sum", "[[4, 5], []]", "['float', '']", NULL, "['', '']", 20, 84, 20, 84},
        {"aten::sum", "[[4, 5], [], [], []]", "['float', 'ScalarList', 'Scalar', '']", NULL, "['', '[-1]', 'True', '']",
         20, 80 + 16, 20, 84},
        {"aten::sum", "[[4, 5], [], [], []]", "['bool', 'ScalarList', 'Scalar', '']", NULL, "['', '[0]', 'True', '']",
         20, 20 + 40, 20, UNKNOWN},
        {"aten::mean", "[[4, 5, 6], [], []]", "['c10::Half', 'ScalarList', 'Scalar']", NULL, "['', '[0, -1]', 'False']",
         120, 240 + 10, 120, 242},
        {"aten::sum", "[[4, 5], []]", "['float', 'Scalar']", NULL, "['', '6']", 20, 84, 20, 84},
        {"aten::norm", "[[4, 5], [], [], []]", "['float', 'Scalar', 'ScalarList', 'Scalar']", NULL,
         "['', '2', '[1]', 'False']", 20, 96, 20, 84},
        /* the largest of each row, and where it is */
        {"aten::max", "[[4, 5], [], []]", "['float', 'Scalar', 'Scalar']", NULL, "['', '1', 'False']", 20, 80 + 4 * 12,
         20, 84},
        {"aten::max", "[[4, 5], [4, 5]]", "['float', 'float']", NULL, "['', '']", 20, 240, 20, 84},
        {"aten::argmax", "[[4, 5], [], []]", "['float', 'Scalar', 'Scalar']", NULL, "['', '1', 'False']", 20, 80 + 32,
         NONE},
        {"aten::cumsum", "[[4, 5], [], []]", "['float', 'Scalar', '']", NULL, "['', '1', '']", 20, 160, 20, 160},
        {"aten::sum", NULL, NULL, NULL, NULL, NONE, 0, UNKNOWN},
        {"aten::_softmax", "[[4, 5], [], []]", "['float', 'Scalar', 'Scalar']", NULL, "['', '-1', 'False']", 100, 160,
         NONE},
        {"aten::_softmax_backward_data", "[[4, 5], [4, 5], [], []]", "['float', 'float', 'Scalar', 'Scalar']", NULL,
         NULL, 80, 240, NONE},
    };
    ASSERT_ANSWERS(answers);
}

static void norms_have_flops_and_bytes(void **state) {
    static const struct answer answers[] = {
        /* 2 x 3 channels x 4: n = 24, c = 3 */
        {"aten::batch_norm", "[[2, 3, 4], [3], [3], [3], [3], [], [], [], []]", "['float', 'float', 'float']",
         "[[12, 4, 1], [1], [1]]", "['', '', '', '', '', 'True', '0.1', '1e-05', 'True']", 18 + 120, 4 * (48 + 18), 138,
         4 * (48 + 18)},
        {"aten::batch_norm", "[[2, 3, 4], [3], [3], [3], [3], [], [], [], []]", "['float', 'float', 'float']",
         "[[12, 4, 1], [1], [1]]", "['', '', '', '', '', 'False', '0.1', '1e-05', 'True']", 18 + 48, 4 * (48 + 12), 138,
         4 * (48 + 18)},
        {"aten::batch_norm", "[[2, 3, 4], [], [], [3], [3], [], [], [], []]", "['float', '', '']",
         "[[12, 4, 1], [], []]", "['', '', '', '', '', 'False', '0.1', '1e-05', 'True']", 66, 4 * (48 + 6), 138,
         4 * (48 + 18)},
        /* rows of 4: 6 means */
        {"aten::layer_norm", "[[2, 3, 4], [], [4], [4], [], []]", "['float', 'ScalarList', 'float', 'float']",
         "[[12, 4, 1], [], [1], [1]]", "['', '[4]', '', '', '1e-05', 'True']", 36 + 120, 4 * (48 + 8 + 12), 24 + 120,
         4 * (48 + 24)},
        {"aten::layer_norm", "[[2, 3, 4], [], [], [], [], []]", "['float', 'ScalarList', '', '']",
         "[[12, 4, 1], [], [], []]", "['', '[4]', '', '', '1e-05', 'True']", 156, 4 * (48 + 12), 144, 4 * (48 + 24)},
        {"aten::layer_norm", "[[2, 3, 4], [], [4], [4], [], []]", "['bool', 'ScalarList', 'bool', 'bool']",
         "[[12, 4, 1], [], [1], [1]]", "['', '[4]', '', '', '1e-05', 'True']", 156, 68, NONE},
        /* 3 groups in each of 2 images */
        {"aten::group_norm", "[[2, 6, 4], [], [6], [6], [], []]", "['float', 'Scalar', 'float', 'float']",
         "[[24, 4, 1], [], [1], [1]]", "['', '3', '', '', '1e-05', 'True']", 36 + 240, 4 * (96 + 12 + 12), 36 + 240,
         4 * (96 + 36)},
        {"aten::native_group_norm", "[[2, 6, 4], [6], [6], [], [], [], [], []]", "['float', 'float', 'float']",
         "[[24, 4, 1], [1], [1]]", "['', '', '', '2', '6', '4', '3', '1e-05']", 276, 4 * (96 + 12 + 12), 276,
         4 * (96 + 36)},
        {"aten::_fused_rms_norm", "[[6, 4], [], [4], []]", "['float', 'ScalarList', 'float', '']",
         "[[4, 1], [], [1], []]", "['', '[4]', '', '']", 60 + 48, 4 * (48 + 4), 108, 4 * (48 + 4)},
        {"aten::_fused_rms_norm", "[[6, 4], [], [], []]", "['float', 'ScalarList', '', '']", "[[4, 1], [], [], []]",
         "['', '[4]', '', '']", 60 + 24, 4 * 48, 108, 4 * (48 + 4)},
        {"aten::batch_norm", "[[3], [3], [3]]", "['float']", "[[1]]", "['', '', '', '', '', 'True']", NONE, NONE},
    };
    ASSERT_ANSWERS(answers);
}

static void norm_gradients_have_flops_and_bytes(void **state) {
    static const char batch[] = "[[2, 3, 4], [2, 3, 4], [3], [3], [3], [3], [3], [], [], []]";
    static const struct answer answers[] = {
        {"aten::native_batch_norm_backward", batch, "['float', 'float', 'float']", "[[1,1,1], [1,1,1]]",
         "['', '', '', '', '', '', '', 'True', '1e-05', '[True, True, True]']", 216, 4 * (72 + 6 + 9), 216,
         4 * (72 + 12)},
        {"aten::native_batch_norm_backward", batch, "['float', 'float', 'float']", "[[1,1,1], [1,1,1]]",
         "['', '', '', '', '', '', '', 'False', '1e-05', '[True, False, False]']", 96 + 48 + 9, 4 * (72 + 6 + 3), 216,
         4 * (72 + 12)},
        {"aten::cudnn_batch_norm_backward", "[[2, 3, 4], [2, 3, 4], [3]]", "['float', 'float', 'float']",
         "[[1,1,1], [1,1,1]]", "['', '', '']", 216, 4 * (72 + 6 + 9), 96 + 9, 4 * (48 + 3)},
        {"aten::native_layer_norm_backward", "[[2, 3, 4], [2, 3, 4], [], [6], [6], [4], [4], []]",
         "['float', 'float', 'ScalarList', 'float', 'float', 'float', 'float']", "[[1,1,1], [1,1,1]]",
         "['', '', '[4]', '', '', '', '', '[True, True, False]']", 216, 4 * (72 + 12 + 8), 216, 4 * (72 + 12)},
        {"aten::native_group_norm_backward", "[[2, 6, 4], [2, 6, 4], [6], [6], [6], [], [], [], [], []]",
         "['float', 'float', 'float', 'float', 'float']", "[[1,1,1], [1,1,1]]",
         "['', '', '', '', '', '2', '6', '4', '3', '[True, True, True]']", 432, 4 * (144 + 12 + 18), 432,
         4 * (144 + 8)},
        {"aten::_fused_rms_norm_backward", "[[6, 4], [6, 4], [], [6], [4], []]",
         "['float', 'float', 'ScalarList', 'float', 'float']", "[[4, 1], [4, 1]]",
         "['', '', '[4]', '', '', '[True, True]']", 24 + 24 + 144 + 48, 4 * (72 + 8), 240, 4 * (72 + 8)},
        {"aten::_fused_rms_norm_backward", "[[6, 4], [6, 4], [], [6], [4], []]",
         "['float', 'float', 'ScalarList', 'float', 'float']", "[[4, 1], [4, 1]]",
         "['', '', '[4]', '', '', '[False, False]']", 48, 4 * (48 + 4), 48, 4 * (72 + 8)},
        {"aten::instance_norm_backward", "[[2, 3, 4], [2, 3, 4]]", "['float', 'float']", NULL, NULL, NONE, NONE},
    };
    ASSERT_ANSWERS(answers);
}

static void first_operand_determines_unit_and_precision(void **state) {
    static const struct answer product = {
        "aten::addmm", "[[5], [2, 3], [3, 5]]", "['float', 'c10::BFloat16', 'c10::BFloat16']", NULL, NULL, 0, 0, 0, 0};
    static const struct answer sum = {"aten::sum", "[[5]]", "['double']", NULL, NULL, 0, 0, 0, 0};
    struct op_flops found = ask(&product, FLOPS_OURS);
    assert_int_equal(found.unit, UNIT_MATRIX);
    assert_string_equal(precision_names[found.precision], "bf16");
    found = ask(&sum, FLOPS_OURS);
    assert_int_equal(found.unit, UNIT_VECTOR);
    assert_string_equal(precision_names[found.precision], "fp64");
}

static void unknown_flops_have_a_reason(void **state) {
    static const struct answer none = {"my::op", "[[5]]", "['float']", NULL, NULL, 0, 0, 0, 0};
    static const struct answer huge = {
        "aten::mul", "[[999999999999999999, 999999999999999999], []]", "['float', 'Scalar']", NULL, NULL, 0, 0, 0, 0};
    static const struct answer below = {"aten::exp", "[[-4]]", "['float']", NULL, NULL, 0, 0, 0, 0};
    assert_string_equal(ask(&none, FLOPS_OURS).missing, "no formula for this operator");
    assert_true(isfinite(ask(&huge, FLOPS_OURS).flops));
    assert_string_equal(ask(&below, FLOPS_OURS).missing, "the FLOPs do not follow from its shapes");
}

#define BF16 "'c10::BFloat16'"
#define FP8  "'c10::Float8_e4m3fn'"

/* (2, 3) x weights of (5, 3): 60 and 6 + 15 + 10 elements; TraceLens takes the first two dimensions of x for its
 * all. */
static void layers_of_inference_libraries(void **state) {
    static const struct answer answers[] = {
        {"vllm::rocm_unquantized_gemm", "[[2, 3], [5, 3], [5]]", "[" BF16 ", " BF16 ", " BF16 "]", NULL, NULL, 70, 72,
         70, 72},
        {"aiter::gemm_a16w16", "[[2, 3], [5, 3], [], []]", "[" BF16 ", " BF16 ", '', 'Scalar']", NULL, NULL, 60, 62, 60,
         62},
        {"aiter::gemm_a16w16", "[[2, 4, 3], [5, 3]]", "[" BF16 ", " BF16 "]", NULL, NULL, 240, 2 * (24 + 15 + 40), 80,
         2 * (8 + 20 + 10)},
        {"aiter::gemm_a16w16", "[[2, 3], [5, 4]]", "[" BF16 ", " BF16 "]", NULL, NULL, NONE, 60, 62},
        {"aiter::gemm_a16w16", "[[3], [5, 3]]", "[" BF16 ", " BF16 "]", NULL, NULL, NONE, NONE},
        {"aiter::gemm_a16w16", "[[2, 3], [5, 3]]", "[" BF16 "]", NULL, NULL, 60, UNKNOWN, NONE},
        {"aiter::_gemm_a16w16_asm", "[[2, 3], [5, 3], [2, 5]]", "[" BF16 ", " BF16 ", 'float']", NULL, NULL, 60, 82, 60,
         82},
        {"aiter::_gemm_a16w16_asm", "[[2, 3], [5, 3], []]", "[" BF16 ", " BF16 ", '']", NULL, NULL, 60, 62, 60, 62},
        {"aiter::gemm_a16w16_atomic_", "[[2, 3], [5, 3], [], [2, 5]]", "[" BF16 ", " BF16 ", 'Scalar', 'float']", NULL,
         NULL, 60, 82, 60, 82},
        {"aiter::gemm_a16w16_atomic_", "[[2, 3], [5, 3]]", "['float', 'float']", NULL, NULL, 60, 4 * 31, 60,
         4 * 21 + 20},
        {"aiter::gemm_a8w8_bpreshuffle", "[[2, 3], [5, 3], [2, 1], [5, 1]]", "[" FP8 ", " FP8 ", 'float', 'float']",
         NULL, NULL, 60, 21 + 20, 60, 21 + 20},
    };
    ASSERT_ANSWERS(answers);
}

/* 2 heads of 4 queries, 1 of 4 keys: 24 and 2 * 12 elements; no strides, and "causal" may be nothing. */
static void attention_of_inference_libraries(void **state) {
    static const char shapes[] = "[[1, 4, 2, 3], [1, 4, 1, 3], [1, 4, 1, 3], [], [], []]";
    static const char gradient[] = "[[1, 4, 2, 3], [1, 4, 2, 3], [1, 4, 1, 3], [1, 4, 1, 3], [1, 4, 2, 3]]";
    static const char types[] = "[" BF16 ", " BF16 ", " BF16 ", " BF16 ", " BF16 "]";
    static const char none[] =
        "['', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', "
        "'', '', 'True']";
    const struct answer answers[] = {
        {"aiter::mha_fwd", shapes, types, NULL, "['', '', '', '0.', '0.1', 'True']", 192, 144, 192, 144},
        {"aiter::fmha_v3_fwd", shapes, types, NULL, "['', '', '', '0.', '0.1', '']", 384, 144, 384, 144},
        {"aiter::_flash_attn_forward", shapes, types, NULL, "['', '', '', '0.', '0.1']", 384, 144, NONE},
        {"flash_attn_3::fwd", shapes, types, NULL, none, 192, 144, 192, 144},
        /* 5 products of 16 pairs, and what sums two heads' gradients of keys and values */
        {"aiter::mha_bwd", gradient, types, NULL, "['', '', '', '', '', '', '0.', '0.1', 'False']", 960 + 24,
         2 * (48 + 48 + 48), 960 + 24, 2 * (48 + 48 + 24)},
    };
    ASSERT_ANSWERS(answers);
}

/* An operator with a pattern of names, and the annotation around it. */
struct inference_answer {
    const char *name, *annotation, *shapes, *types, *values;
    double flops, bytes;
    const char *missing;
};

static void assert_inference(const struct inference_answer *answers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct inference_answer *of = &answers[i];
        struct op_inputs_parser parser = {0};
        struct op_inputs inputs;
        const struct op_input_texts texts = {.shapes = {of->shapes, of->shapes ? strlen(of->shapes) : 0},
                                             .types = {of->types, of->types ? strlen(of->types) : 0},
                                             .values = {of->values, of->values ? strlen(of->values) : 0}};
        assert_true(op_inputs_parse(&parser, &texts, &inputs));
        inputs.name = of->name;
        inputs.annotation = of->annotation;
        const struct op_kind *kind = op_formula_find(of->name, strlen(of->name), OP_TABLE_ALL);
        struct op_flops found = op_flops_find(kind, &inputs, FLOPS_OURS);
        const char *missing = found.missing ? found.missing : found.remark;
        if ((missing || of->missing) && (!missing || !of->missing || strcmp(missing, of->missing) != 0))
            fail_msg("%s %s: %s", of->name, of->shapes, missing ? missing : "known");
        if (!found.missing &&
            (fabs(found.flops - of->flops) > 1e-9 * of->flops || fabs(found.bytes - of->bytes) > 1e-9 * of->bytes))
            fail_msg("%s %s: %.17g FLOPs, %.17g bytes", of->name, of->shapes, found.flops, found.bytes);
        op_inputs_parser_free(&parser);
    }
}

#define ASSERT_INFERENCE(answers) assert_inference(answers, sizeof(answers) / sizeof *(answers))

#define TENSORS "[[10, 100], [10, 100], [], []]"
#define FLOATS  "['float', 'float', 'Scalar', 'Scalar']"

static void triton_kernels_have_the_flops_of_their_sources(void **state) {
    static const struct inference_answer answers[] = {
        /* 2 tensors of 1000 floats, and the first one again */
        {"triton_poi_fused_add_relu_0", NULL, TENSORS, FLOATS, "['', '', '1000', '']", 2000, 12000, NULL},
        {"triton_poi_fused_add_relu_0", NULL, TENSORS, FLOATS, "['', '', '7', ' +1000 ']", 2000, 12000, NULL},
        /* the last two integers: 10 rows of 100 elements; silu 4, mean 1, rsqrt 2 */
        {"triton_red_fused__to_copy_mean_rsqrt_silu_12", NULL, TENSORS, FLOATS, "['', '', '10', '100']", 7000, 8000,
         NULL},
        {"triton_per_fused_sum_3", NULL, TENSORS, FLOATS, "['', '', '10']", 10, 8000, NULL},
        {"triton_poi_fused_add_9", NULL, NULL, NULL, NULL, 0, 0, "no argument shapes in the trace"},
        {"triton_poi_fused_add_9", NULL, TENSORS, FLOATS, "['', '', '1.5', 'x']", 0, 0,
         "no argument shapes in the trace"},
        {"triton_poi_fused_add_9", NULL, TENSORS, "['float', 'c10::Odd', 'Scalar']", "['', '', '1000']", 0, 0,
         "element type unknown"},
        {"triton_poi_fused_add_frobnicate_1", NULL, TENSORS, FLOATS, "['', '', '1000']", 0, 12000,
         "source operators unknown"},
        {"triton_poi_fused_add", NULL, TENSORS, FLOATS, "['', '', '1000']", 0, 12000, "source operators unknown"},
        {"triton_poi_fused__to_copy_mul_3", NULL, "[[1024], [1024], []]",
         "['c10::Float8_e4m3fn', 'c10::Float', 'Scalar']", "['', '', '1024']", 1024, 1024 + 4096 + 1024, NULL},
    };
    static const struct {
        const char *name, *sources;
    } names[] = {
        {"triton_poi_fused_add_mul_silu_0", "add mul silu"},
        {"triton_poi_fused__unsafe_view_add_3", "_unsafe_view add"},
        {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", "_to_copy add mean mul pow rsqrt"},
        {"triton_poi_fused_all_to_all_single_copy__17", "all_to_all_single copy_"},
        {"triton_poi_fused_native_layer_norm_backward_1", "native_layer_norm_backward"}, /* the longest name */
        {"triton_poi_fused_max_pool2d_with_indices_max_0", "max_pool2d_with_indices max"},
        {"triton_poi_fused__0", NULL},
        {"triton_poi_fused_0", NULL},
        {"triton_poi_", NULL},
        {"triton_tem_fused_mm_0", NULL},
    };
    ASSERT_INFERENCE(answers);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct triton_sources sources;
        bool found = triton_sources_find(names[i].name, strlen(names[i].name), &sources);
        sources.text[sources.text_length] = 0;
        if (found != (names[i].sources != NULL) || (found && strcmp(sources.text, names[i].sources) != 0))
            fail_msg("%s: %s", names[i].name, found ? sources.text : "unknown");
    }
}

static void inference_operators_follow_annotations_and_experts(void **state) {
    static const char mixed[] = "execute_7_context_1(sq5sk8sqsq25sqsk40)_generation_2(sq2sk30sqsq2sqsk30)";
    static const char qkv[] = "[[7, 4, 8], [7, 2, 8], [7, 2, 8]]", bf16[] = "[" BF16 ", " BF16 ", " BF16 "]";
    const struct inference_answer answers[] = {
        /* 4 (8 + 8) (2 40 - 25 + 2 30); 7 (4 + 2) 16 new and 31 2 16 cached elements */
        {"vllm::unified_attention_with_output", mixed, qkv, bf16, NULL, 64 * 115, 2 * (7 * 6 * 16 + 31 * 2 * 16), NULL},
        {"aiter::my_unified_attention", mixed, qkv, "[" BF16 ", 'c10::Float8_e4m3fn']", NULL, 64 * 115,
         2 * (7 * 6 * 16) + 31 * 2 * 16, NULL},
        {"sglang_profiler::attention_decode_3", "step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=30 g_sk=30]", qkv, bf16, NULL,
         64 * 60, 2 * (2 * 6 * 16 + 28 * 2 * 16), NULL},
        /* results and a workspace precede the queries; keys are pages */
        {"sglang_profiler::attention_paged_attention_ragged_0",
         "step[MIXED bs=3 c=1 g=2 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=2 g_sk=30 g_sqsq=2 g_sqsk=30]",
         "[[7, 4, 8], [4096], [7, 4, 8], [9, 16, 2, 8], [9, 16, 2, 8]]",
         "[" BF16 ", 'unsigned char', " BF16 ", " BF16 ", " BF16 "]", NULL, 64 * 115, 2 * (7 * 6 * 16 + 31 * 2 * 16),
         NULL},
        {"vllm::unified_attention_with_output", NULL, qkv, bf16, NULL, 0, 0, "needs the iteration annotation"},
        {"vllm::unified_attention_with_output", "execute_context_0(0)_generation_64(64)", qkv, bf16, NULL, 0, 0,
         "needs the iteration annotation"},
        /* 2 tokens of width 4, inner width 3, gated, 2 of 8 experts: 8 (1 - 0.75^2) = 3.5 are active */
        {"vllm::rocm_aiter_fused_moe", NULL, "[[2, 4], [8, 6, 4], [8, 4, 3], [2, 2]]",
         "[" BF16 ", 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'float']", NULL, 2 * 2 * 4 * 3 * 2 * 3 + 8 * 3,
         16 + 3.5 * 12 * 3 + 16, NULL},
        {"vllm::outplace_fused_experts", NULL, "[[2, 4], [8, 3, 4], [8, 4, 3], [2, 2]]", "[" BF16 ", " BF16 "]", NULL,
         2 * 2 * 4 * 3 * 2 * 2 + 8 * 3, 16 + 3.5 * 12 * 2 * 2 + 16, NULL},
        {"aiter::fmoe_g1u1", NULL, "[[2, 4], [2, 4], [8, 6, 4], [8, 4, 3]]",
         "[" BF16 ", 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn']",
         "['', '', '', '', '', '', '', '', '2']", 2 * 2 * 4 * 3 * 2 * 3 + 8 * 3, 8 + 3.5 * 12 * 3 + 16, NULL},
        {"aiter::fmoe_g1u1", NULL, "[[2, 4], [2, 4], [8, 6, 4], [8, 4, 3]]", bf16, NULL, 0, 0,
         "number of experts per token not recorded"},
        {"engine::fused_moe_3", NULL, "[[2, 4], [8, 3, 4], [8, 4, 3], [2, 2]]", "[" BF16 ", " BF16 "]", NULL,
         2 * 2 * 4 * 3 * 2 * 2 + 8 * 3, 16 + 3.5 * 12 * 2 * 2 + 16, NULL},
        {"engine::fused_moe_gate", NULL, "[[2, 4], [8]]", "[" BF16 ", " BF16 "]", NULL, 0, 0,
         "unknown layout of tokens and weights"},
        /* 4 rows of width 4 to 6 */
        {"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel_12", NULL,
         "[[2, 4], [8, 6, 4], [], [4, 6], [], [8], [], [], [2, 2]]", "[" BF16 ", 'c10::Float8_e4m3fn', '', " BF16 "]",
         NULL, 2 * 4 * 6 * 4, 4 * 4 * 2 + 3.5 * 24 + 4 * 6 * 2, NULL},
        /* FP8 without a recorded type of the result: 2 bytes */
        {"aten::_scaled_mm", NULL, "[[2, 3], [3, 5]]", "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn']", NULL, 60,
         21 + 20, NULL},
    };
    ASSERT_INFERENCE(answers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_products_have_flops_and_bytes),
        cmocka_unit_test(layers_of_inference_libraries),
        cmocka_unit_test(attention_of_inference_libraries),
        cmocka_unit_test(convolutions_have_flops_and_bytes),
        cmocka_unit_test(convolution_gradients_have_flops_and_bytes),
        cmocka_unit_test(attention_has_flops_and_bytes),
        cmocka_unit_test(attention_gradients_have_flops_and_bytes),
        cmocka_unit_test(elementwise_operators_have_flops_and_bytes),
        cmocka_unit_test(copies_have_no_flops),
        cmocka_unit_test(lists_of_tensors_have_flops_and_bytes),
        cmocka_unit_test(reductions_have_flops_and_bytes),
        cmocka_unit_test(norms_have_flops_and_bytes),
        cmocka_unit_test(norm_gradients_have_flops_and_bytes),
        cmocka_unit_test(first_operand_determines_unit_and_precision),
        cmocka_unit_test(unknown_flops_have_a_reason),
        cmocka_unit_test(triton_kernels_have_the_flops_of_their_sources),
        cmocka_unit_test(inference_operators_follow_annotations_and_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
