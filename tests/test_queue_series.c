/*
 * test_queue_series.c - tests queue lengths in time windows: values, kept windows, several ranks, and their encoded
 * bytes.
 */
#include <math.h>
#include <time.h>

#include "analyze/compat/hta/hta.h"
#include "unit.h"

#define N_CHANGES 4000
#define NS        1000 /* to the microsecond */

/* Changes of queues as they are given, with room for a few thousand; streams by rising id. */
struct changes {
    int64_t ns[N_CHANGES], length[N_CHANGES], streams[N_CHANGES];
    uint32_t lane[N_CHANGES];
    struct queue_times times;
};

static struct changes changes;

static void changes_begin(void) {
    changes.times = (struct queue_times){0, changes.ns, changes.length, changes.lane, changes.streams};
}

static void add_change(int64_t ns, int64_t stream, int64_t length) {
    row_t i = changes.times.n++;
    assert_true(i < N_CHANGES);
    bool same = i > 0 && changes.streams[changes.lane[i - 1]] == stream;
    changes.lane[i] = i == 0 ? 0 : changes.lane[i - 1] + !same;
    changes.streams[changes.lane[i]] = stream;
    changes.ns[i] = ns;
    changes.length[i] = length;
}

static void queue_length_is_averaged_over_time(void **state) {
    struct queue_list list = {0};
    changes_begin();
    add_change(0, 7, 1); /* for half of the first window, then 3 for the second half and the next window */
    add_change(NS / 2, 7, 3);
    add_change(2 * NS, 7, 0);
    add_change(0, 9, 1);
    add_change(QUEUE_BINS * NS, 9, 0);
    assert_true(queue_list_add(&list, 3, &changes.times));
    assert_int_equal(list.n, 2);
    const struct queue_series *longest = &list.list[0], *other = &list.list[1];
    assert_int_equal(longest->rank, 3);
    assert_int_equal(longest->stream, 7);
    assert_true(longest->longest == 3 && longest->begin_us == 0 && longest->end_us == QUEUE_BINS);
    assert_true(longest->mean[0] == 2 && longest->most[0] == 3);
    assert_true(longest->mean[1] == 3 && longest->mean[2] == 0 && longest->most[3] == 0);
    for (int i = 0; i < QUEUE_BINS; i++)
        assert_true(fabs(other->mean[i] - 1) < 1e-12 && other->most[i] == 1);
    queue_list_free(&list);
}

/* As many streams as an adversarial trace may contain: only the longest queues are kept. */
static void longest_queues_are_kept(void **state) {
    enum { STREAMS = N_CHANGES / 2 };
    struct queue_list list = {0};
    changes_begin();
    for (int stream = 0; stream < STREAMS; stream++) {
        add_change((int64_t)stream * NS, stream, stream * 7 % STREAMS);
        add_change((int64_t)(stream + 1) * NS, stream, 0);
    }
    assert_true(queue_list_add(&list, 0, &changes.times));
    assert_true(list.n == QUEUES_KEPT && list.n_all == STREAMS);
    for (int i = 0; i < QUEUES_KEPT; i++) {
        const struct queue_series *series = &list.list[i];
        double most = 0;
        for (int stretch = 0; stretch < QUEUE_BINS; stretch++)
            most = fmax(most, series->most[stretch]);
        assert_true(most == series->longest && most == (double)(series->stream * 7 % STREAMS));
        assert_true(most == STREAMS - 1 - i);
    }
    queue_list_free(&list);
}

/* Direct implementation: many samples in each window. */
static void queue_lengths_equal_sampling(void **state) {
    enum { MOST = 200 };
    const int n_samples = 40;
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    for (int run = 0; run < 20; run++) {
        struct queue_list list = {0};
        int n = 1 + rand() % MOST, ts[MOST];
        changes_begin();
        for (int i = 0; i < n; i++) {
            ts[i] = (i ? ts[i - 1] : rand() % 1000) + rand() % (rand() % 3 ? 40 : 2000);
            add_change((int64_t)ts[i] * NS, 7, rand() % 9);
        }
        assert_true(queue_list_add(&list, 0, &changes.times));
        assert_int_equal(list.n, 1);
        const struct queue_series *series = list.list;
        double step = (double)(ts[n - 1] - ts[0]) / QUEUE_BINS;
        for (int stretch = 0, at = 0; stretch < QUEUE_BINS && step > 0; stretch++) {
            double sum = 0, most = 0;
            for (int k = 0; k < n_samples; k++) {
                double now = ts[0] + step * (stretch + (k + 0.5) / n_samples);
                while (at + 1 < n && ts[at + 1] <= now)
                    at++;
                sum += (double)changes.length[at];
                most = fmax(most, (double)changes.length[at]);
            }
            /* A change between two samples moves the mean by no more than its step over their number. */
            int n_inside = 1;
            for (int i = 0; i < n; i++)
                n_inside += ts[i] >= ts[0] + step * stretch && ts[i] <= ts[0] + step * (stretch + 1);
            assert_true(fabs(series->mean[stretch] - sum / n_samples) <= 9.0 * n_inside / n_samples);
            assert_true(series->most[stretch] >= most);
        }
        queue_list_free(&list);
    }
}

static void assert_same(const struct queue_list *a, const struct queue_list *b) {
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_all, b->n_all);
    assert_memory_equal(a->list, b->list, a->n * sizeof *a->list);
}

/* Twelve ranks of which two have equal lengths each: joined from the first and from the last. */
static void the_order_in_which_ranks_are_joined_does_not_matter(void **state) {
    enum { RANKS = 12 };
    struct queue_list of[RANKS] = {0}, rising = {0}, falling = {0};
    for (int rank = 0; rank < RANKS; rank++) {
        changes_begin();
        add_change(0, 7, 1 + rank / 2);
        add_change(10 * NS, 7, 0);
        assert_true(queue_list_add(&of[rank], rank, &changes.times));
    }
    for (int i = 0; i < RANKS; i++) {
        assert_true(queue_list_join(&rising, &of[i], 0));
        assert_true(queue_list_join(&falling, &of[RANKS - 1 - i], 0));
    }
    assert_same(&rising, &falling);
    assert_true(rising.n == QUEUES_KEPT && rising.n_all == RANKS);
    for (int i = 0; i < QUEUES_KEPT; i++)
        assert_int_equal(rising.list[i].rank, 10 - i / 2 * 2 + i % 2); /* 10, 11, 8, 9, ... */
    struct queue_list later = {0};
    assert_true(queue_list_join(&later, &of[3], 2.5));
    assert_true(later.list->begin_us == 2.5 && later.list->end_us == 12.5);
    queue_list_free(&later);
    queue_list_free(&rising);
    queue_list_free(&falling);
    for (int rank = 0; rank < RANKS; rank++)
        queue_list_free(&of[rank]);
}

static void encoded_series_are_decoded_unchanged(void **state) {
    struct queue_list list = {0}, taken = {0};
    struct buffer bytes = {0};
    changes_begin();
    for (int stream = 0; stream < 20; stream++) {
        add_change(stream, stream, stream);
        add_change(100 + stream, stream, 0);
    }
    assert_true(queue_list_add(&list, 5, &changes.times));
    queue_list_codec(&(struct codec){.out = &bytes}, &list);
    assert_false(bytes.failed);
    struct codec codec = {.at = bytes.bytes, .end = bytes.bytes + bytes.length};
    queue_list_codec(&codec, &taken);
    assert_true(!codec.failure && codec.at == codec.end);
    assert_same(&list, &taken);
    queue_list_free(&taken);
    for (size_t n = 0; n < bytes.length; n += n < 16 ? 1 : 997) { /* cut off */
        codec = (struct codec){.at = bytes.bytes, .end = bytes.bytes + n};
        queue_list_codec(&codec, &taken);
        assert_int_equal(codec.failure, CODEC_MALFORMED);
        queue_list_free(&taken);
    }
    queue_list_free(&list);
    buffer_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_length_is_averaged_over_time),
        cmocka_unit_test(longest_queues_are_kept),
        cmocka_unit_test(queue_lengths_equal_sampling),
        cmocka_unit_test(the_order_in_which_ranks_are_joined_does_not_matter),
        cmocka_unit_test(encoded_series_are_decoded_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
