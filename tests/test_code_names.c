/*
 * test_code_names.c - tests the parts of names of Python functions, and the owner of a function.
 */
#include "facts/code_names.h"
#include "unit.h"

static void names_have_file_line_and_function(void **state) {
    static const struct {
        const char *name, *file, *function; /* file NULL: another form */
        uint32_t line;
    } cases[] = {
        {"mymodel/router.py(12): route", "mymodel/router.py", "route", 12},
        {"train.py(30): <module>", "train.py", "<module>", 30},
        {"dir (1)/a.py(7): f", "dir (1)/a.py", "f", 7},
        {"<string>(1): f", "<string>", "f", 1},
        {"train.py(30):", NULL, NULL, 0},
        {"train.py(30): ", NULL, NULL, 0},
        {"train.py(): f", NULL, NULL, 0},
        {"(30): f", NULL, NULL, 0},
        {"train.py(99999999999): f", NULL, NULL, 0},
        {"<built-in method apply of type object at 0x7f00>", NULL, NULL, 0},
        {"nn.Module: Linear_3", NULL, NULL, 0},
        {"", NULL, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct code_name parts;
        const bool parsed = code_name_parse(cases[i].name, &parts);
        if (parsed != (cases[i].file != NULL))
            fail_msg("%s: %s", cases[i].name, parsed ? "parsed" : "not parsed");
        if (!parsed)
            continue;
        assert_int_equal(parts.file_length, strlen(cases[i].file));
        assert_memory_equal(parts.file, cases[i].file, parts.file_length);
        assert_string_equal(parts.function, cases[i].function);
        assert_int_equal(parts.line, cases[i].line);
    }
}

static void owner_follows_from_the_path(void **state) {
    static const struct {
        const char *name;
        enum code_owner owner;
    } cases[] = {
        {"mymodel/router.py(12): route", CODE_USER},
        {"train.py(30): step", CODE_USER},
        {"/home/me/run/train.py(30): step", CODE_USER},
        {"/work/vllm/run.py(1): f", CODE_USER}, /* the first component decides */
        {"torchlib/x.py(1): f", CODE_USER},
        {"vllm_plugin.py(1): f", CODE_USER},
        {"src/torch/x.py(1): f", CODE_USER},
        {"cases.py(1): f", CODE_USER},
        {"vllm/model_executor/layers.py(8): f", CODE_LIBRARY},
        {"transformers/models/llama.py(1): f", CODE_LIBRARY},
        {"PIL/Image.py(1): f", CODE_LIBRARY},
        {"zmq/sugar/socket.py(1): f", CODE_LIBRARY},
        {"triton.py(1): f", CODE_LIBRARY},
        {"/opt/venv/lib/python3.12/site-packages/mylib/a.py(1): f", CODE_LIBRARY},
        {"/usr/lib/python3/dist-packages/mylib/a.py(1): f", CODE_LIBRARY},
        {"site-packages/six.py(1): f", CODE_LIBRARY},
        {"torch/nn/modules/linear.py(130): forward", CODE_OTHER},
        {"/opt/venv/lib/python3.12/site-packages/torch/_ops.py(1): f", CODE_OTHER},
        {"threading.py(1): run", CODE_OTHER},
        {"random.py(1): f", CODE_OTHER}, /* also a file of the user with this name */
        {"__future__.py(1): f", CODE_OTHER},
        {"zoneinfo/_common.py(1): f", CODE_OTHER},
        {"concurrent/futures/thread.py(1): f", CODE_OTHER},
        {"distutils/core.py(1): f", CODE_OTHER}, /* until Python 3.11 */
        {"annotationlib.py(1): f", CODE_OTHER},  /* since Python 3.14 */
        {"/usr/lib/python3.10/json/decoder.py(1): f", CODE_OTHER},
        {"C:\\Python312\\Lib\\json\\decoder.py(1): f", CODE_OTHER},
        {"<frozen importlib._bootstrap>(241): f", CODE_OTHER},
        {"<string>(1): f", CODE_OTHER},
        {"/tmp/torchinductor_me/ab/x.py(1): call", CODE_OTHER},
        {"ab/cabcdefghij0123456789xyz.py(1): call", CODE_OTHER},
        {"cabcdefghij0123456789.py(1): call", CODE_OTHER},
        {"cabcdefghij012345678.py(1): call", CODE_USER}, /* 19 letters and digits after the c */
        {"cabcdefghij_0123456789.py(1): call", CODE_USER},
        {"<built-in method run_backward of torch._C._EngineBase object at 0x7f00>", CODE_OTHER},
        {"nn.Module: Model_0", CODE_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (code_owner_of(cases[i].name) != cases[i].owner)
            fail_msg("%s: owner %d", cases[i].name, (int)code_owner_of(cases[i].name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_file_line_and_function),
        cmocka_unit_test(owner_follows_from_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
