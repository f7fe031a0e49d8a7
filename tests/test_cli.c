/*
 * test_cli.c - tests internals of the program that scripts cannot reach well: human-readable numbers, JSON strings of
 * arbitrary bytes, suggestions for misspelled words, detection of the same file under two names, and removal of
 * temporary files at a signal.
 *
 * The program is not a library, so this file includes its sources.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "cli/job.c"
#include "cli/paths.c"
#include "cli/progress.c"
#include "cli/runs.c"
#include "text/names.h"
#include "unit.h"

static void counts_have_a_comma_every_three_digits(void **state) {
    assert_string_equal(count_text(0).text, "0");
    assert_string_equal(count_text(999).text, "999");
    assert_string_equal(count_text(1000).text, "1,000");
    assert_string_equal(count_text(123456).text, "123,456");
    assert_string_equal(count_text(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void means_below_ten_have_two_digits(void **state) {
    assert_string_equal(mean_count_text(0).text, "0");
    assert_string_equal(mean_count_text(NAN).text, "0");
    assert_string_equal(mean_count_text(0.1833).text, "0.18");
    assert_string_equal(mean_count_text(0.004).text, "0.004");
    assert_string_equal(mean_count_text(1).text, "1");
    assert_string_equal(mean_count_text(7.75).text, "7.8");
    assert_string_equal(mean_count_text(9.97).text, "10");
    assert_string_equal(mean_count_text(4458.4).text, "4,458");
}

static void counted_nouns_have_singular_and_plural(void **state) {
    assert_string_equal(counted_text(0, "rank", "ranks").text, "0 ranks");
    assert_string_equal(counted_text(1, "rank", "ranks").text, "1 rank");
    assert_string_equal(counted_text(12345, "trace is", "traces are").text, "12,345 traces are");
}

static void progress_covers_all_stages(void **state) {
    static const struct stage_share stages[] = {
        {"read", 20, true}, {"link", 20, false}, {"other way", 50, false}, {"write", 60, false}, {0}};
    struct progress progress = progress_start(false, stages, 2);
    assert_true(fabs(part_done(&progress, "read", 0, 10) - 0) < 1e-9);
    assert_true(fabs(part_done(&progress, "read", 5, 10) - 5.0 / 150) < 1e-9);
    assert_true(fabs(part_done(&progress, "read", 10, 10) - 10.0 / 150) < 1e-9);
    assert_true(fabs(part_done(&progress, "read", 0, 10) - 10.0 / 150) < 1e-9); /* the second input */
    assert_true(fabs(part_done(&progress, "read", 10, 10) - 20.0 / 150) < 1e-9);
    assert_true(fabs(part_done(&progress, "link", 7, 14) - 30.0 / 150) < 1e-9);
    assert_true(part_done(&progress, "a stage of the library's own", 1, 2) < 0);
    assert_true(fabs(part_done(&progress, "write", 0, 0) - 40.0 / 100) < 1e-9); /* skipped input no longer counts */
    assert_true(fabs(part_done(&progress, "write", 1, 2) - 70.0 / 100) < 1e-9);
    assert_true(fabs(part_done(&progress, "write", 2, 2) - 1) < 1e-9);
}

static void remaining_time_is_shown_once_known(void **state) {
    char text[24];
    time_left(text, sizeof text, 0.9, 0.5);
    assert_string_equal(text, "");
    time_left(text, sizeof text, 10, 0.01);
    assert_string_equal(text, "");
    time_left(text, sizeof text, 10, 0.5);
    assert_string_equal(text, ", 10 s left");
    time_left(text, sizeof text, 60, 0.1);
    assert_string_equal(text, ", 9 min left");
    time_left(text, sizeof text, 3600, 0.1);
    assert_string_equal(text, ", 9.0 h left");
}

static void bytes_have_the_unit_that_keeps_them_below_a_thousand(void **state) {
    assert_string_equal(bytes_text(0).text, "0 B");
    assert_string_equal(bytes_text(999).text, "999 B");
    assert_string_equal(bytes_text(1000).text, "1.0 kB");
    assert_string_equal(bytes_text(999949).text, "999.9 kB");
    assert_string_equal(bytes_text(999950).text, "1.0 MB");
    assert_string_equal(bytes_text(12345678901).text, "12.3 GB");
    assert_string_equal(bytes_text(UINT64_MAX).text, "18446.7 PB");
}

static void json_strings_are_ascii_for_any_bytes(void **state) {
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\x7f", "\"\\u000a\\u007f\""},
        {"\xc3\xa9", "\"\\u00e9\""},
        {"\xe2\x82\xac", "\"\\u20ac\""},
        {"\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\""},
        {"\xed\xa0\x80", "\"\\ud800\""}, /* a lone surrogate */
        {"\xff"
         "a",
         "\"\\udcffa\""},                                         /* no UTF-8 */
        {"\xc3", "\"\\udcc3\""},                                  /* cut off */
        {"\xf0\x9f\x98", "\"\\udcf0\\udc9f\\udc98\""},            /* cut off later */
        {"\xc0\x80", "\"\\udcc0\\udc80\""},                       /* longer than need be */
        {"\xf4\x90\x80\x80", "\"\\udcf4\\udc90\\udc80\\udc80\""}, /* above U+10FFFF */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = NULL;
        size_t size;
        FILE *file = open_memstream(&out, &size);
        assert_non_null(file);
        struct text_out text = {.file = file};
        struct json_out json = {.text = &text};
        json_cstring(&json, cases[i].text);
        out_flush(&text);
        buffer_free(&text.out);
        fclose(file);
        assert_string_equal(out, cases[i].json);
        free(out);
    }
}

static const char *nearest_of(const char *typed, const char *const *words) {
    struct nearest nearest = nearest_to(typed);
    for (; *words; words++)
        nearest_try(&nearest, *words);
    return nearest.word;
}

static void nearest_word_has_at_most_two_typos(void **state) {
    static const char *const words[] = {"link", "info", "completion", "threads", NULL};
    static const char long_word[] = "a-word-that-is-longer-than-all-that-we-could-have-meant";
    assert_string_equal(nearest_of("lnik", words), "link");
    assert_string_equal(nearest_of("link", words), "link");
    assert_string_equal(nearest_of("inf", words), "info");
    assert_string_equal(nearest_of("compltion", words), "completion");
    assert_string_equal(nearest_of("treads", words), "threads");
    assert_string_equal(nearest_of("comp", words), "completion"); /* as a prefix */
    assert_null(nearest_of("co", words));
    assert_null(nearest_of("zzzz", words));
    assert_null(nearest_of("", words));
    assert_null(nearest_of(long_word, words));
}

static void make_file(const char *path) {
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    close(file);
}

static int enter_folder(void **state) {
    char name[] = "/tmp/sutra_test_XXXXXX";
    if (!mkdtemp(name) || chdir(name) != 0)
        return -1;
    *state = strdup(name);
    return *state ? 0 : -1;
}

static int leave_folder(void **state) {
    static const char *const made[] = {"a", "b", "hard", "soft"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    int failed = rmdir(*state);
    free(*state);
    return failed;
}

static void names_of_one_file_are_the_same(void **state) {
    make_file("a");
    make_file("b");
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(symlink("a", "soft"), 0);
    assert_true(paths_same("a", "./a"));
    assert_true(paths_same("a", "hard"));
    assert_true(paths_same("soft", "hard"));
    assert_false(paths_same("a", "b"));
    assert_false(paths_same("a", "new"));
    assert_true(paths_same("new", "./new"));
    assert_false(paths_same("new", "newer"));
    assert_false(paths_same("new", "/tmp/new"));
    assert_false(paths_same("/dev/null", "/dev/null"));
    assert_false(paths_same("-", "-"));
}

/* Exit status of the child that guards `path` after the signal; 0 if the child continues. */
static int signal_of_child(const char *path, int signal_number) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        interrupt_guard_start();
        interrupt_guard_set("a");
        interrupt_guard_set(path);
        raise(signal_number);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_signal_removes_the_guarded_file_and_ends_the_program(void **state) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        make_file("a");
        make_file("b");
        assert_int_equal(signal_of_child("b", signals[i]), signals[i]);
        assert_int_equal(access("b", F_OK), -1);
        assert_int_equal(access("a", F_OK), 0); /* no longer guarded */
    }
}

static void a_signal_removes_nothing_that_is_not_guarded(void **state) {
    char too_long[PATH_MAX + 1];
    memset(too_long, 'a', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    make_file("a");
    assert_int_equal(signal_of_child(NULL, SIGTERM), SIGTERM);
    assert_int_equal(signal_of_child(too_long, SIGTERM), SIGTERM);
    assert_int_equal(access("a", F_OK), 0);
}

/* A child that maps `path`, guards "b", cuts `path` short and reads on; its exit code. */
static int exit_of_reader_cut_short(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        int file = open(path, O_RDWR), nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDERR_FILENO);
        if (ftruncate(file, 8192))
            _exit(1);
        const volatile char *bytes = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, file, 0);
        interrupt_guard_start();
        interrupt_guard_set("b");
        _exit(ftruncate(file, 0) ? 1 : bytes[5000]);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void input_truncated_while_mapped_ends_the_program_with_an_error(void **state) {
    make_file("a");
    make_file("b");
    assert_int_equal(exit_of_reader_cut_short("a"), SUTRA_IO);
    assert_int_equal(access("b", F_OK), -1);
}

enum { N_READERS = 16 };

/* A page that the file no longer has, and the moment at which all threads read it. */
struct cut {
    const char *bytes;
    pthread_barrier_t barrier;
};

static void *read_cut(void *arg) {
    struct cut *cut = arg;
    pthread_barrier_wait(&cut->barrier);
    return *(const volatile char *)cut->bytes ? arg : NULL;
}

/* The child reads on many threads at once; what it says goes to `says`. Does not return. */
static void read_cut_on_threads(const char *path, int says) {
    int file = open(path, O_RDWR);
    struct cut cut = {.bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0)};
    pthread_t threads[N_READERS];
    dup2(says, STDERR_FILENO);
    interrupt_guard_start();
    pthread_barrier_init(&cut.barrier, NULL, N_READERS);
    for (int i = 0; i < N_READERS; i++)
        if (pthread_create(&threads[i], NULL, read_cut, &cut))
            _exit(1);
    for (int i = 0; i < N_READERS; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

static void input_truncated_on_all_threads_is_reported_once(void **state) {
    const char *line = "sutra: another program truncated an input while sutra read it\n";
    close(open("a", O_CREAT | O_RDWR, 0600));
    for (int i = 0; i < 20; i++) {
        int pipes[2], status;
        char text[512] = "";
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            read_cut_on_threads("a", pipes[1]);
        close(pipes[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), SUTRA_IO);
        assert_int_equal(read(pipes[0], text, sizeof text - 1), strlen(line));
        assert_string_equal(text, line);
        close(pipes[0]);
    }
}

static void an_ignored_signal_stays_ignored(void **state) {
    make_file("a");
    signal(SIGINT, SIG_IGN);
    assert_int_equal(signal_of_child("a", SIGINT), 0);
    signal(SIGINT, SIG_DFL);
    assert_int_equal(access("a", F_OK), 0);
}

static void the_peak_of_memory_keeps_what_was_freed(void **state) {
    enum { N = 32 << 20 };
    struct memory_watch watch = memory_start();
    char *bytes = malloc(N);
    assert_non_null(bytes);
    memset(bytes, 1, N);
    memory_sample(&watch);
    free(bytes);
    memory_sample(&watch);
    assert_in_range(memory_peak(&watch, 0), N / 2, memory_peak_rss());
    /* The size of the inputs is subtracted, but the result is at least the measured memory. */
    assert_in_range(memory_peak(&watch, UINT64_MAX / 2), N / 2, memory_peak_rss());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_a_comma_every_three_digits),
        cmocka_unit_test(means_below_ten_have_two_digits),
        cmocka_unit_test(counted_nouns_have_singular_and_plural),
        cmocka_unit_test(progress_covers_all_stages),
        cmocka_unit_test(remaining_time_is_shown_once_known),
        cmocka_unit_test(bytes_have_the_unit_that_keeps_them_below_a_thousand),
        cmocka_unit_test(json_strings_are_ascii_for_any_bytes),
        cmocka_unit_test(nearest_word_has_at_most_two_typos),
        cmocka_unit_test_setup_teardown(names_of_one_file_are_the_same, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_signal_removes_the_guarded_file_and_ends_the_program, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(a_signal_removes_nothing_that_is_not_guarded, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(input_truncated_while_mapped_ends_the_program_with_an_error, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(input_truncated_on_all_threads_is_reported_once, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(an_ignored_signal_stays_ignored, enter_folder, leave_folder),
        cmocka_unit_test(the_peak_of_memory_keeps_what_was_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
