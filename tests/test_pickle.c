/*
 * test_pickle.c - pickles of plain data become values; opcodes that run code, truncated and malformed pickles are
 * errors with their byte offset.
 */
#include "read/objects.h"
#include "unit.h"

#define BYTES(text) text, sizeof text - 1

static struct objects objects;

/* The value of a pickle; `expected` is the error, or NULL. */
static object_t read_pickle(const char *bytes, size_t size, const char *expected) {
    struct source source;
    struct sutra_error error = {0};
    object_t root = OBJECT_ABSENT;
    size_t end = 0;
    char text[400] = "";
    objects_free(&objects);
    assert_true(objects_init(&objects));
    assert_int_equal(source_copy_any(&source, "p", bytes, size, &error), SUTRA_OK);
    enum sutra_status status = pickle_read(&objects, &source, NULL, &root, &end, &error);
    source_close(&source);
    if (status)
        sutra_error_text(&error, text, sizeof text);
    assert_string_equal(text, expected ? expected : "");
    return root;
}

static const char *text_of(object_t object) {
    assert_int_equal(object_type(object), OBJECT_STRING);
    return strings_text(&objects.strings, (uint32_t)object_payload(object));
}

static void malformed_pickles_are_errors_with_an_offset(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *error;
    } cases[] = {
        {BYTES("\x80"), "p: not a pickle of protocol 2 to 5"},
        {BYTES("\x80\x01N."), "p: not a pickle of protocol 2 to 5"},
        {BYTES("\x80\x02"), "p: byte 2: truncated pickle"},
        {BYTES("\x80\x02N"), "p: byte 3: truncated pickle"},
        {BYTES("\x80\x02J\1\2\3"), "p: byte 2: truncated pickle"},
        {BYTES("\x80\x02X\xff\xff\xff\xff"), "p: byte 2: truncated pickle"},
        {BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "p: byte 2: truncated pickle"},
        {BYTES("\x80\x02\x8b\xff\xff\xff\x7f"),
         "p: byte 2: pickle integer of 2147483647 bytes is too long (maximum: 16)"},
        {BYTES("\x80\x02h\7."), "p: byte 2: pickle memo 7 is not set"},
        {BYTES("\x80\x02j\7\7\7\7."), "p: byte 2: pickle memo 117901063 is not set"},
        {BYTES("\x80\x02\x94."), "p: byte 2: pickle stack underflow"},
        {BYTES("\x80\x02q\0."), "p: byte 2: pickle stack underflow"},
        {BYTES("\x80\x02t."), "p: byte 2: pickle stack underflow"},
        {BYTES("\x80\x02N(\x85."), "p: byte 4: pickle stack underflow"},
        {BYTES("\x80\x02N\x86."), "p: byte 3: pickle stack underflow"},
        {BYTES("\x80\x02NNa."), "p: byte 4: pickle: APPEND without a list"},
        {BYTES("\x80\x02}(Ne."), "p: byte 5: pickle: APPENDS without a list"},
        {BYTES("\x80\x02](NNu."), "p: byte 6: pickle: dict key is neither text nor integer"},
        {BYTES("\x80\x02](K\1Nu."), "p: byte 7: pickle: SETITEMS without a dict"},
        {BYTES("\x80\x02}(Nu."), "p: byte 5: pickle: odd number of dict items"},
        {BYTES("\x80\x02}\x88Ns."), "p: byte 5: pickle: dict key is neither text nor integer"},
        {BYTES("\x80\x02]K\1Ns."), "p: byte 6: pickle: SETITEM without a dict"},
        {BYTES("\x80\x02NN."), "p: byte 4: pickle: STOP with 2 values on the stack"},
        {BYTES("\x80\x02N(."), "p: byte 4: pickle: STOP with 1 values on the stack"},
        {BYTES("\x80\x02N\x80\x06."), "p: byte 3: pickle protocol 6 is unknown (supported: 2 to 5)"},
        {BYTES("\x80\x02\xff."), "p: byte 2: unknown pickle opcode 0xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_pickle(cases[i].bytes, cases[i].size, cases[i].error);
}

static void opcodes_that_run_code_are_refused_by_name(void **state) {
    static const struct {
        unsigned char opcode;
        const char *name;
    } cases[] = {{'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},      {'b', "BUILD"},      {'i', "INST"},
                 {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"},  {0x82, "EXT1"},      {'P', "PERSID"},
                 {'0', "POP"},    {0x97, "NEXT_BUFFER"},  {0x8f, "EMPTY_SET"},  {0x90, "ADDITEMS"},  {'2', "DUP"},
                 {'F', "FLOAT"},  {'L', "LONG"},          {0x96, "BYTEARRAY8"}, {0x91, "FROZENSET"}, {'g', "GET"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char bytes[] = {(char)0x80, 2, 'N', (char)cases[i].opcode, '.'};
        char expected[100];
        snprintf(expected, sizeof expected, "p: byte 3: pickle opcode %s is not allowed", cases[i].name);
        read_pickle(bytes, sizeof bytes, expected);
    }
}

static void integers_have_their_values(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        enum object_type type;
        uint64_t low, high;
    } cases[] = {
        {BYTES("\x80\x02K\xff."), OBJECT_INTEGER, 255, 0},
        {BYTES("\x80\x02M\1\2."), OBJECT_INTEGER, 513, 0},
        {BYTES("\x80\x02J\xff\xff\xff\xff."), OBJECT_INTEGER, UINT64_MAX, 0},
        {BYTES("\x80\x02\x8a\0."), OBJECT_INTEGER, 0, 0},
        {BYTES("\x80\x02\x8a\1\x80."), OBJECT_INTEGER, (uint64_t)-128, 0},
        {BYTES("\x80\x02\x8a\6\0\0\0\0\0\x7f."), OBJECT_INTEGER, (uint64_t)0x7f << 40, 0},
        {BYTES("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), OBJECT_WIDE, INT64_MAX, 0},
        {BYTES("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0."), OBJECT_WIDE, UINT64_MAX, 0},
        {BYTES("\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\xff."), OBJECT_WIDE, 0, UINT64_MAX},
        {BYTES("\x80\x02\x8b\2\0\0\0\0\1."), OBJECT_INTEGER, 256, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        object_t value = read_pickle(cases[i].bytes, cases[i].size, NULL);
        assert_int_equal(object_type(value), cases[i].type);
        if (cases[i].type == OBJECT_INTEGER) {
            assert_int_equal(object_small(value), (int64_t)cases[i].low);
            continue;
        }
        assert_int_equal(objects.wide[object_payload(value)].low, cases[i].low);
        assert_int_equal(objects.wide[object_payload(value)].high, cases[i].high);
    }
}

static void last_of_equal_keys_counts(void **state) {
    static const char *const pickles[] = {
        "\x80\x02}(X\4___sizeK\1X\4___sizeK\2u.",                /* in one SETITEMS */
        "\x80\x02}X\4___sizeK\1sX\4___lineK\7sX\4___sizeK\2s.",  /* one by one */
        "\x80\x02}(X\4___lineK\7X\4___sizeK\1u(X\4___sizeK\2u.", /* in two parts */
        "\x80\x02(X\4___sizeK\1X\4___sizeK\2d.",                 /* of DICT */
    };
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        char bytes[100];
        size_t size = strlen(pickles[i]);
        for (size_t k = 0; k <= size; k++)
            bytes[k] = (char)(pickles[i][k] == '_' ? 0 : pickles[i][k]);
        object_t dict = read_pickle(bytes, size, NULL);
        assert_int_equal(object_type(dict), OBJECT_DICT);
        assert_int_equal(object_small(dict_get(&objects, dict, WORD_SIZE)), 2);
        assert_int_equal(dict_get(&objects, dict, WORD_NAME), OBJECT_ABSENT);
    }
}

/* [[a, b], [a, b], [a, b, c]]: the third list grows after it shared the items of the first. */
static void equal_lists_share_items_until_one_grows(void **state) {
    object_t root = read_pickle(BYTES("\x80\x02](](K\1K\2e](K\1K\2e](K\1K\2eK\3ae."), NULL);
    const object_t *lists = items_of(&objects, root);
    assert_int_equal(container_of(&objects, root)->n, 3);
    assert_ptr_equal(items_of(&objects, lists[0]), items_of(&objects, lists[1]));
    assert_int_equal(container_of(&objects, lists[2])->n, 3);
    assert_int_equal(object_small(items_of(&objects, lists[2])[0]), 1);
    assert_int_equal(object_small(items_of(&objects, lists[2])[2]), 3);
    uint32_t numbers[3];
    for (size_t i = 0; i < 3; i++)
        numbers[i] = first_equal_list(&objects, (uint32_t)object_payload(lists[i]));
    assert_int_equal(numbers[0], numbers[1]);
    assert_int_not_equal(numbers[0], numbers[2]);

    /* The first one grows: the others keep their items. */
    root = read_pickle(BYTES("\x80\x02](](K\1K\2eq\0](K\1K\2eh\0K\3aK\4e."), NULL);
    lists = items_of(&objects, root);
    assert_int_equal(container_of(&objects, lists[0])->n, 3);
    assert_int_equal(container_of(&objects, lists[1])->n, 2);
    assert_int_equal(object_small(items_of(&objects, lists[1])[1]), 2);
    assert_int_not_equal(first_equal_list(&objects, (uint32_t)object_payload(lists[0])),
                         first_equal_list(&objects, (uint32_t)object_payload(lists[1])));
}

/* [1, 2, [1, 2], [1, 2], [1, 2], 3, [1, 3]]: the last list has the opcodes of the others, but the memo has changed. */
static void repeated_opcodes_give_equal_lists_until_the_memo_changes(void **state) {
    object_t root = read_pickle(BYTES("\x80\x02](K\1q\0K\2q\1](h\0h\1e](h\0h\1e](h\0h\1eK\3q\1](h\0h\1ee."), NULL);
    const object_t *items = items_of(&objects, root);
    assert_int_equal(container_of(&objects, root)->n, 7);
    for (size_t i = 2; i < 7; i += i == 4 ? 2 : 1) {
        assert_int_equal(container_of(&objects, items[i])->n, 2);
        assert_int_equal(object_small(items_of(&objects, items[i])[0]), 1);
        assert_int_equal(object_small(items_of(&objects, items[i])[1]), i < 5 ? 2 : 3);
    }
    /* The opcodes are repeated, but the list has an item already. */
    root = read_pickle(BYTES("\x80\x02](K\1q\0K\2q\1](h\0h\1e](h\0h\1e]K\4a(h\0h\1ee."), NULL);
    items = items_of(&objects, root);
    assert_int_equal(container_of(&objects, items[4])->n, 3);
    assert_int_equal(object_small(items_of(&objects, items[4])[0]), 4);
    read_pickle(BYTES("\x80\x02](K\1q\0K\2q\1](h\0h\1e](h\0h\1"), "p: byte 25: truncated pickle");
}

/* ['f', 'x', 'y', {'f': ['x', 'y']}, {'f': ['x', 'y']}, {'f': ['x', 'y']}, ...]: the loop for dicts reads the second and
 * the third one, whose lists are then other names of the first list, until one of them grows. */
#define DICT_WITH_LIST "}\x94(h\0]\x94(h\1h\2eu"
#define DICTS          "\x80\x04](\x8c\1f\x94\x8c\1x\x94\x8c\1y\x94" DICT_WITH_LIST DICT_WITH_LIST DICT_WITH_LIST
#define LONG_TEXT      "\x8c\x28----------------------------------------"
static void lists_with_several_names_grow_alone(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        uint32_t grown; /* item */
    } cases[] = {
        {BYTES(DICTS LONG_TEXT "e."), 0},
        {BYTES(DICTS "h\4K\7a" LONG_TEXT "e."), 3},
        {BYTES(DICTS "h\6K\7a" LONG_TEXT "e."), 4},
        {BYTES(DICTS "h\x08K\7a" LONG_TEXT "e."), 5},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        object_t root = read_pickle(cases[c].bytes, cases[c].size, NULL);
        for (uint32_t i = 3; i < 6; i++) {
            const struct container *dict = container_of(&objects, items_of(&objects, root)[i]);
            assert_int_equal(dict->n, 1);
            assert_string_equal(text_of(objects.shape_keys[objects.shapes[dict->shape].first]), "f");
            object_t list = objects.items[dict->first];
            assert_int_equal(container_of(&objects, list)->n, i == cases[c].grown ? 3 : 2);
            assert_string_equal(text_of(items_of(&objects, list)[1]), "y");
        }
    }
}

/* Sizes of the delivered events, in their order; fails at an event of size 9. */
struct delivery {
    uint32_t list;
    int64_t sizes[16];
    size_t n;
};

static bool add_size(void *arg, uint32_t list, const uint32_t *position, const object_t *values, size_t stride) {
    struct delivery *delivery = arg;
    assert_true(position[WORD_ACTION]);
    object_t size = position[WORD_SIZE] ? values[(position[WORD_SIZE] - 1) * stride] : OBJECT_ABSENT;
    delivery->list = list;
    delivery->sizes[delivery->n++] = object_small(size);
    return object_small(size) != 9;
}

/* {'x': [{'action': 'a', 'size': 1}, ...]}: memo 0 is the dict, 1 "x", 2 the list; 3 and 6 are the first two events, 4
 * "action", 5 "size". The first event defines the keys, so that it is an object. */
#define EVENTS_BEGIN     "\x80\x04}\x94(\x8c\1x\x94]\x94(}\x94(\x8c\6action\x94N\x8c\4size\x94K\1u"
#define EVENT_SIZE(size) "}\x94(h\4Nh\5K" size "u"
static void events_are_delivered_in_order_or_become_objects(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected; /* sizes of the delivered events; NULL: all become objects */
    } cases[] = {
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") EVENT_SIZE("\3") "eh\1" LONG_TEXT "u."), "\1\2\3"},
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "}\x94(h\4Nh\5M\3\0\x8c\1yNu" EVENT_SIZE("\4") "eh\1" LONG_TEXT "u."),
         "\1\2\3\4"},
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "e(" EVENT_SIZE("\3")
                   EVENT_SIZE("\4") "e" EVENT_SIZE("\5") "ah\1" LONG_TEXT "u."),
         "\1\2\3\4\5"},
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") EVENT_SIZE("\x09") "eh\1" LONG_TEXT "u."), NULL}, /* refused */
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "h\6eh\1" LONG_TEXT "u."), NULL},                 /* the event twice */
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "eh\1h\2" LONG_TEXT "\x85u."), NULL},             /* the list twice */
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "Neh\1" LONG_TEXT "u."), NULL},                   /* another item */
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "h\5K\7seh\1" LONG_TEXT "u."), NULL},             /* an event changes */
        {BYTES(EVENTS_BEGIN EVENT_SIZE("\2") "eh\1h\3h\5K\1sh\1" LONG_TEXT "u."), NULL},       /* an object changes */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct source source;
        struct sutra_error error;
        struct delivery delivery = {0};
        struct pickle_events events = {.add = add_size, .arg = &delivery};
        object_t root = OBJECT_ABSENT;
        size_t end;
        objects_free(&objects);
        assert_true(objects_init(&objects));
        assert_int_equal(source_copy_any(&source, "p", cases[c].bytes, cases[c].size, &error), SUTRA_OK);
        enum sutra_status status = pickle_read(&objects, &source, &events, &root, &end, &error);
        source_close(&source);
        assert_int_equal(events.failed, cases[c].expected == NULL);
        if (cases[c].expected) {
            assert_int_equal(status, SUTRA_OK);
            assert_int_equal(delivery.n, strlen(cases[c].expected));
            for (size_t i = 0; i < delivery.n; i++)
                assert_int_equal(delivery.sizes[i], cases[c].expected[i]);
            assert_int_equal(objects.containers[delivery.list].n, delivery.n);
            assert_int_equal(objects.containers[delivery.list].shape, LIST_EVENTS);
        } else if (!status) {
            object_t list = items_of(&objects, root)[0];
            assert_int_equal(object_small(dict_get(&objects, items_of(&objects, list)[0], WORD_SIZE)), 1);
        }
    }
}

static void long_lists_keep_their_order(void **state) {
    struct buffer bytes = {0};
    buffer_append(&bytes, "\x80\x02]", 3);
    for (unsigned i = 0; i < 5000; i++) {
        const char item[] = {'M', (char)(i & 255), (char)(i >> 8), 'a'};
        buffer_append(&bytes, item, sizeof item);
    }
    buffer_append(&bytes, ".", 1);
    object_t list = read_pickle(bytes.bytes, bytes.length, NULL);
    assert_int_equal(container_of(&objects, list)->n, 5000);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(object_small(items_of(&objects, list)[i]), i);
    buffer_free(&bytes);
}

static void deep_nesting_needs_no_recursion(void **state) {
    struct buffer bytes = {0};
    buffer_append(&bytes, "\x80\x02", 2);
    for (unsigned i = 0; i < 1000000; i++)
        buffer_append(&bytes, "]", 1);
    for (unsigned i = 0; i < 999999; i++)
        buffer_append(&bytes, "a", 1);
    buffer_append(&bytes, ".", 1);
    assert_int_equal(object_type(read_pickle(bytes.bytes, bytes.length, NULL)), OBJECT_LIST);
    buffer_free(&bytes);
}

static void memo_indices_may_have_gaps(void **state) {
    object_t list = read_pickle(BYTES("\x80\x02]r\xff\xff\xff\xff(K\7r\0\0\0\x80j\0\0\0\x80j\xff\xff\xff\xff"
                                      "e."),
                                NULL);
    assert_int_equal(container_of(&objects, list)->n, 3);
    assert_int_equal(object_small(items_of(&objects, list)[1]), 7);
    assert_int_equal(items_of(&objects, list)[2], list);
}

static void text_that_is_not_utf8_is_replaced_as_python_does(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {{BYTES("\x80\x04\x8c\3a\xffz."), "a\xef\xbf\xbdz"},
                 {BYTES("\x80\x04\x8c\3a\xe2\x82."), "a\xef\xbf\xbd"},
                 {BYTES("\x80\x04\x8c\4\xed\xa0\x80z."), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"},
                 {BYTES("\x80\x04\x8c\4\xf0\x9f\x98z."), "\xef\xbf\xbdz"},
                 {BYTES("\x80\x04\x8c\3\xe2\x82\xac."), "\xe2\x82\xac"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_of(read_pickle(cases[i].bytes, cases[i].size, NULL)), cases[i].text);
}

static void json_gives_the_same_values(void **state) {
    static const char text[] =
        "{\"segments\": [{\"size\": 18446744073709551615}, [], {}, null, true, 1.5, \"\\u00e4\"]}";
    struct source source;
    struct sutra_error error;
    object_t root;
    objects_free(&objects);
    assert_true(objects_init(&objects));
    assert_int_equal(source_copy_any(&source, "p", text, sizeof text - 1, &error), SUTRA_OK);
    assert_int_equal(objects_read_json(&objects, &source, &root, &error), SUTRA_OK);
    source_close(&source);
    object_t list = dict_get(&objects, root, WORD_SEGMENTS);
    const object_t *items = items_of(&objects, list);
    assert_int_equal(container_of(&objects, list)->n, 7);
    assert_int_equal(objects.wide[object_payload(dict_get(&objects, items[0], WORD_SIZE))].low, UINT64_MAX);
    assert_int_equal(object_type(items[1]), OBJECT_LIST);
    assert_int_equal(object_type(items[2]), OBJECT_DICT);
    assert_int_equal(items[3], OBJECT_NONE);
    assert_int_equal(items[4], object_make(OBJECT_BOOL, 1));
    assert_string_equal(text_of(items[5]), "1.5");
    assert_string_equal(text_of(items[6]), "\xc3\xa4");
}

static int free_objects(void **state) {
    objects_free(&objects);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_pickles_are_errors_with_an_offset),
        cmocka_unit_test(opcodes_that_run_code_are_refused_by_name),
        cmocka_unit_test(integers_have_their_values),
        cmocka_unit_test(last_of_equal_keys_counts),
        cmocka_unit_test(equal_lists_share_items_until_one_grows),
        cmocka_unit_test(repeated_opcodes_give_equal_lists_until_the_memo_changes),
        cmocka_unit_test(lists_with_several_names_grow_alone),
        cmocka_unit_test(events_are_delivered_in_order_or_become_objects),
        cmocka_unit_test(long_lists_keep_their_order),
        cmocka_unit_test(deep_nesting_needs_no_recursion),
        cmocka_unit_test(memo_indices_may_have_gaps),
        cmocka_unit_test(text_that_is_not_utf8_is_replaced_as_python_does),
        cmocka_unit_test(json_gives_the_same_values),
    };
    return cmocka_run_group_tests(tests, NULL, free_objects);
}
