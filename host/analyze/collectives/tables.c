/*
 * tables.c - a row for each collective and message, and, if it is asked for, one for each rank of it.
 */
#include <math.h>

#include "analyze/collectives/collectives.h"
#include "analyze/rank_list.h"
#include "base/error.h"

static double microseconds(int64_t ns) {
    return (double)ns / 1e3;
}

void collective_table_members(const struct sutra_collectives *of, struct sutra_table *table, uint32_t group) {
    struct arena scratch = {0};
    struct rank_list list = {0};
    size_t n;
    const int64_t *ranks = collective_group_ranks(&of->calls, group, &scratch, &n);
    for (size_t i = 0; ranks && i < n; i++)
        rank_list_add(&list, ranks[i]);
    const char *text = rank_list_text(&list);
    table_text(table, text, list.length);
    table->failed |= !ranks;
    arena_free(&scratch);
}

/* Members of the group that comes again and again. */
struct group_text {
    uint32_t group;
    struct sutra_table text; /* a row, a column */
};

static void put_group(const struct sutra_collectives *of, struct group_text *kept, struct sutra_table *table,
                      uint32_t group) {
    static const struct column_spec column = {"members", SUTRA_COLUMN_TEXT};
    size_t length;
    if (kept->group != group || !kept->text.n_rows) {
        table_free(&kept->text);
        table_init(&kept->text, "members", &column, 1);
        collective_table_members(of, &kept->text, group);
        kept->group = group;
    }
    collective_table_string(of, table, of->calls.groups[group].name);
    table->failed |= kept->text.failed;
    if (table->failed)
        return;
    const char *text = table_get_text(&kept->text, 0, 0, &length);
    table_text(table, text, length);
}

static int64_t rank_at(const struct sutra_collectives *of, const struct collective_match *match, row_t place) {
    return collective_match_call(&of->calls, &of->matches, match, place)->rank;
}

static void put_match(const struct sutra_collectives *of, const struct collective_match *match,
                      const struct collective_time *time, struct group_text *group, struct sutra_table *table) {
    const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
    put_group(of, group, table, match->group);
    table_integer(table, match->number);
    collective_table_string(of, table, first->what);
    collective_table_string(of, table, first->type);
    table_real(table, match->is_message && match->from >= 0 ? (double)match->from : (double)NAN);
    table_real(table, match->is_message && match->to >= 0 ? (double)match->to : (double)NAN);
    table_integer(table, match->n);
    table_integer(table, time->n_members);
    table_real(table, time->bytes == CALL_UNKNOWN ? (double)NAN : (double)time->bytes);
    table_words(table, collective_place_names[time->place]);
    table_real(table, microseconds(moment_minus(time->at.arrival_ns, of->first_ns)));
    table_integer(table, rank_at(of, match, time->at.first));
    table_integer(table, rank_at(of, match, time->at.last));
    table_real(table, microseconds(time->skew_ns));
    table_real(table, time->at.wait_ns / match->n / 1e3);
    table_real(table, microseconds(time->at.transfer_ns));
    table_real(table, microseconds(time->end_skew_ns));
    table_real(table, time->algorithm);
    table_real(table, time->bus);
    table_real(table, collective_link_percent(of, time->place, time->bus));
}

static void put_arrivals(const struct sutra_collectives *of, const struct collective_match *match,
                         const struct collective_time *time, struct group_text *group, struct sutra_table *table) {
    struct job_collectives job = collectives_job(of);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        int64_t start = job_time(&job, call, call->start_ns), end = job_time(&job, call, call->end_ns);
        put_group(of, group, table, match->group);
        table_integer(table, match->number);
        collective_table_string(of, table, call->what);
        table_integer(table, call->rank);
        table_real(table, microseconds(moment_minus(start, of->first_ns)));
        table_real(table, microseconds(moment_minus(time->at.arrival_ns, start)));
        table_real(table, microseconds(moment_minus(call->end_ns, call->start_ns)));
        table_real(table, microseconds(moment_minus(end, of->first_ns)));
    }
}

double collective_link_percent(const struct sutra_collectives *of, enum collective_place place, double bus) {
    bool known = of->link_gb_per_s > 0 && (place == PLACE_INSIDE || of->options.link_gb_per_s > 0);
    return known ? 100 * bus / of->link_gb_per_s : (double)NAN;
}

enum sutra_status collective_tables_make(struct sutra_collectives *of, struct sutra_error *error) {
    struct sutra_table *all = collective_table_begin(of, SUTRA_COLLECTIVES_ALL);
    struct sutra_table *arrivals = of->options.arrivals ? collective_table_begin(of, SUTRA_COLLECTIVES_ARRIVALS) : NULL;
    struct group_text group = {0};
    for (row_t i = 0; i < of->matches.n && !all->failed; i++) {
        const struct collective_match *match = &of->matches.list[i];
        struct collective_time time = collective_time_of(of, match);
        put_match(of, match, &time, &group, all);
        if (arrivals)
            put_arrivals(of, match, &time, &group, arrivals);
    }
    table_free(&group.text);
    return all->failed || (arrivals && arrivals->failed) ? error_memory(error) : SUTRA_OK;
}
