/*
 * words.c - why a job hangs in sentences, from the roots of the wait-for graph.
 *
 *     root --cause--> why | seen | where | remedy | check        one paragraph each
 *     nodes, edges --distance to the roots--> list of waits
 *
 * Sentences state what the dumps record; a cause of low confidence "may" be one. Names of the dumps are shortened, and
 * lists of ranks have at most HANG_RANGES_SHOWN ranges. Cost: O(ranks of the roots + nodes + edges).
 */
#include "analyze/hang/hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "text/names.h"
#include "text/quantities.h"

#define NAME_COLUMNS  48
#define FRAME_COLUMNS 72
#define GROUPS_SHOWN  8
#define FRAMES_SHOWN  3

const char hang_none_remedy[] =
    "Inspect all ranks with py-spy dump --pid PID --native: no rank waits in a recorded operation. Set "
    "TORCH_FR_BUFFER_SIZE above 0 before the start. Gloo does not record send and receive.";

#define TIMING_REMEDY                                                                                                  \
    " Set TORCH_NCCL_ENABLE_TIMING=1: the next dumps then show whether a GPU has not started the kernel."
#define FRAMES_REMEDY                                                                                                  \
    "No frames are recorded: pickles contain frames with TORCH_INCLUDE_STACK_TRACE=1, JSON dumps do not."

/* ---- Ranks, groups, operations, frames ---- */

const char *hang_ranks_text(struct arena *arena, struct hang_ranks ranks, size_t n_ranges) {
    struct buffer text = {0};
    hang_ranges_append(&text, ranks, n_ranges);
    const char *copy = text.length ? arena_text(arena, text.bytes, text.length) : "";
    arena->failed |= text.failed;
    buffer_free(&text);
    return copy ? copy : "";
}

/* "rank 5", "ranks 1 and 7", "ranks 0-3,8"; `noun` is "rank" or "Rank". */
static const char *ranks_words(struct arena *arena, const char *noun, struct hang_ranks ranks) {
    if (ranks.n == 1)
        return arena_format(arena, "%s %" PRId64, noun, ranks.list[0]);
    if (ranks.n == 2)
        return arena_format(arena, "%ss %" PRId64 " and %" PRId64, noun, ranks.list[0], ranks.list[1]);
    return arena_format(arena, "%ss %s", noun, hang_ranks_text(arena, ranks, HANG_RANGES_SHOWN));
}

/* "7 ranks wait", "Rank 3 waits", or "" for none; with this end. */
static const char *waiting_words(struct arena *arena, struct hang_ranks waiting, const char *end) {
    if (waiting.n == 0)
        return "";
    if (waiting.n == 1)
        return arena_format(arena, " Rank %" PRId64 " waits%s.", waiting.list[0], end);
    return arena_format(arena, " %s wait%s.", counted_text(waiting.n, "rank", "ranks").text, end);
}

static const char *verb(struct hang_ranks ranks, const char *one, const char *several) {
    return ranks.n == 1 ? one : several;
}

static const char *string_words(const struct sutra_hang *hang, struct arena *arena, uint32_t string, unsigned width) {
    if (string == STRING_NONE)
        return "";
    return arena_format(arena, "%s", short_text(strings_text(&hang->strings, string), width).text);
}

/* The description of a group, or "" if it repeats the name. */
static const char *description_words(const struct sutra_hang *hang, struct arena *arena, uint32_t group) {
    const char *text = string_words(hang, arena, hang->groups[group].description, NAME_COLUMNS);
    const bool is_new = hang->groups[group].description != hang->groups[group].name;
    return is_new && strcmp(text, "undefined") != 0 ? text : "";
}

static const char *group_name(const struct sutra_hang *hang, struct arena *arena, uint32_t group) {
    return string_words(hang, arena, hang->groups[group].name, NAME_COLUMNS);
}

/* "group 7 (TENSOR_MODEL_PARALLEL_GROUP)" */
static const char *group_words(const struct sutra_hang *hang, struct arena *arena, uint32_t group) {
    const char *description = description_words(hang, arena, group), *name = group_name(hang, arena, group);
    return *description ? arena_format(arena, "group %s (%s)", name, description)
                        : arena_format(arena, "group %s", name);
}

/* "groups 1, 2, 3": different names, in their order; at most GROUPS_SHOWN. */
static const char *groups_words(const struct sutra_hang *hang, struct arena *arena, const uint32_t *groups, size_t n) {
    struct buffer text = {0};
    size_t n_names = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && hang->groups[groups[i]].name == hang->groups[groups[i - 1]].name)
            continue;
        if (n_names++ < GROUPS_SHOWN)
            buffer_format(&text, "%s%s",
                          text.length == 0 ? ""
                          : n == 2         ? " and "
                                           : ", ",
                          group_name(hang, arena, groups[i]));
    }
    if (n_names > GROUPS_SHOWN)
        buffer_format(&text, " ... %s more", count_text(n_names - GROUPS_SHOWN).text);
    arena->failed |= text.failed;
    const char *words = arena_format(arena, "group%s %s", n_names == 1 ? "" : "s", text.length ? text.bytes : "");
    buffer_free(&text);
    return words;
}

/* "#6", "0->1", "?->1" */
static const char *number_words(struct arena *arena, const struct hang_node *node) {
    if (!node->is_p2p)
        return arena_format(arena, "#%" PRId64, node->seq);
    if (node->from == FLIGHT_ANY)
        return arena_format(arena, "?->%" PRId64, node->to);
    return arena_format(arena, "%" PRId64 "->%" PRId64, node->from, node->to);
}

/* The operation of a node, after "waits in" or "arrive at": "all_reduce #6"; of `rank`, "a send to rank 1". */
static const char *operation_words(const struct sutra_hang *hang, struct arena *arena, const struct hang_node *node,
                                   int64_t rank) {
    if (!node->is_p2p)
        return arena_format(arena, "%s #%" PRId64, string_words(hang, arena, node->type, NAME_COLUMNS), node->seq);
    if (rank != node->from && node->from == FLIGHT_ANY)
        return "a receive from any rank";
    return rank == node->from ? arena_format(arena, "a send to rank %" PRId64, node->to)
                              : arena_format(arena, "a receive from rank %" PRId64, node->from);
}

/* " (BFloat16, 512 elements)": dtype and input of an entry, else output; "" without both. */
static const char *shape_words(const struct sutra_hang *hang, struct arena *arena, const struct flight_entry *entry) {
    const struct flight_shape *shape = &hang->shapes[entry->shape];
    const int64_t n = shape->n_in ? shape->n_in : shape->n_out;
    const char *in = string_words(hang, arena, shape->in_types, NAME_COLUMNS);
    const char *types = *in ? in : string_words(hang, arena, shape->out_types, NAME_COLUMNS);
    if (entry->has_parts)
        return " (coalesced)";
    if (n == 0)
        return *types ? arena_format(arena, " (%s)", types) : "";
    return arena_format(arena, " (%s%s%s)", types, *types ? ", " : "",
                        counted_text((uint64_t)n, "element", "elements").text);
}

/* "Ranks 0-3: loss (train.py:23). Rank 4: other (train.py:9).": ranks by frame, at most FRAMES_SHOWN frames; "" without
 * frames. `label` follows the ranks. */
static const char *frames_words(const struct sutra_hang *hang, struct arena *arena, struct hang_ranks ranks,
                                const uint32_t *frames, const char *label) {
    struct buffer text = {0};
    int64_t *same = arena_alloc(arena, ranks.n, sizeof *same);
    uint32_t shown[FRAMES_SHOWN];
    size_t n_shown = 0;
    for (size_t i = 0; i < ranks.n && same && n_shown < FRAMES_SHOWN; i++) {
        bool is_known = frames[i] == STRING_NONE;
        for (size_t k = 0; k < n_shown; k++)
            is_known |= shown[k] == frames[i];
        if (is_known)
            continue;
        struct hang_ranks group = {same, 0};
        for (size_t k = i; k < ranks.n; k++)
            if (frames[k] == frames[i])
                same[group.n++] = ranks.list[k];
        shown[n_shown++] = frames[i];
        buffer_format(&text, "%s%s%s: %s.", text.length ? " " : "", ranks_words(arena, "Rank", group), label,
                      string_words(hang, arena, frames[i], FRAME_COLUMNS));
    }
    const char *words = text.length ? arena_text(arena, text.bytes, text.length) : "";
    arena->failed |= text.failed;
    buffer_free(&text);
    return words ? words : "";
}

/* Frames of the arrived ranks that are not in `except`. */
static const char *arrived_frames_words(const struct sutra_hang *hang, struct arena *arena,
                                        const struct hang_node *node, struct hang_ranks except) {
    int64_t *ranks = arena_alloc(arena, node->arrived.n, sizeof *ranks);
    uint32_t *frames = arena_alloc(arena, node->arrived.n, sizeof *frames);
    size_t n = 0;
    for (size_t i = 0; i < node->arrived.n && ranks && frames; i++) {
        if (hang_ranks_have(except, node->arrived.list[i]))
            continue;
        ranks[n] = node->arrived.list[i];
        frames[n++] = hang_entry(hang, node->records[i])->frame;
    }
    return n ? frames_words(hang, arena, (struct hang_ranks){ranks, n}, frames, "") : "";
}

/* Whether the operation of a root timed out. */
static const char *timeout_words(struct arena *arena, const struct hang_root *root) {
    if (root->timeout_ms <= 0)
        return root->has_timed_out ? " The operation timed out." : "";
    return arena_format(arena, root->has_timed_out ? " The operation timed out after %g s." : " The timeout is %g s.",
                        (double)root->timeout_ms / 1000);
}

/* ---- Ranks and dumps that are missing ---- */

/* "Ranks 0-3 wait in all_reduce #6 (Float, 8 elements)." */
static const char *arrived_words(const struct sutra_hang *hang, struct arena *arena, const struct hang_node *node) {
    if (node->arrived.n == 0)
        return "";
    return arena_format(arena, "%s %s in %s%s.", ranks_words(arena, "Rank", node->arrived),
                        verb(node->arrived, "waits", "wait"), operation_words(hang, arena, node, node->arrived.list[0]),
                        shape_words(hang, arena, hang_entry(hang, node->records[0])));
}

/* The first node of a group, kind and number, or n_nodes. O(log n). */
static uint32_t find_node(const struct sutra_hang *hang, const struct hang_also *also) {
    uint32_t i;
    BISECT(i, hang->n_nodes,
           hang->nodes[i].group != also->group     ? hang->nodes[i].group < also->group
           : hang->nodes[i].is_p2p != also->is_p2p ? !hang->nodes[i].is_p2p
                                                   : hang->nodes[i].seq < also->seq);
    return i;
}

/* "Ranks 1 and 7 wait for rank 5 directly too (groups 4, 10).": the merged roots; ranks of at most GROUPS_SHOWN. */
static const char *also_words(const struct sutra_hang *hang, struct arena *arena, const struct hang_root *root) {
    uint32_t *groups = arena_alloc(arena, root->n_also, sizeof *groups);
    int64_t ranks[GROUPS_SHOWN];
    size_t n_ranks = 0;
    bool is_complete = root->n_also <= GROUPS_SHOWN;
    if (!groups || root->n_also == 0)
        return "";
    for (size_t i = 0; i < root->n_also; i++) {
        groups[i] = root->also[i].group;
        const uint32_t number = is_complete ? find_node(hang, &root->also[i]) : hang->n_nodes;
        const struct hang_ranks arrived = number < hang->n_nodes ? hang->nodes[number].arrived : (struct hang_ranks){0};
        is_complete &= arrived.n > 0 && n_ranks + arrived.n <= GROUPS_SHOWN;
        for (size_t k = 0; is_complete && k < arrived.n; k++)
            ranks[n_ranks++] = arrived.list[k];
    }
    qsort(groups, root->n_also, sizeof *groups, compare_uint32s);
    const char *awaited = ranks_words(arena, "rank", root->ranks);
    const char *where = groups_words(hang, arena, groups, root->n_also);
    if (!is_complete)
        return arena_format(arena, " Other ranks wait for %s directly too (%s).", awaited, where);
    qsort(ranks, n_ranks, sizeof *ranks, compare_int64s);
    size_t n = 0;
    for (size_t i = 0; i < n_ranks; i++)
        if (n == 0 || ranks[n - 1] != ranks[i])
            ranks[n++] = ranks[i];
    const struct hang_ranks waiting = {ranks, n};
    return arena_format(arena, " %s %s for %s directly too (%s).", ranks_words(arena, "Rank", waiting),
                        verb(waiting, "waits", "wait"), awaited, where);
}

/* What the dumps record of the ranks that did not arrive. */
static const char *absent_ranks_words(const struct sutra_hang *hang, struct arena *arena,
                                      const struct hang_root *root) {
    int64_t *stale = arena_alloc(arena, root->ranks.n, sizeof *stale);
    int64_t *idle = arena_alloc(arena, root->ranks.n, sizeof *idle);
    struct hang_ranks of_stale = {stale, 0}, of_idle = {idle, 0};
    for (size_t i = 0; i < root->ranks.n && stale && idle; i++) {
        const uint32_t index = hang_rank_index(hang, root->ranks.list[i]);
        if (hang_ranks_have(hang->stale, root->ranks.list[i]))
            stale[of_stale.n++] = root->ranks.list[i];
        else if (index != UINT32_MAX && hang->ranks[index].n_pending == 0)
            idle[of_idle.n++] = root->ranks.list[i];
    }
    const char *words = "";
    if (of_idle.n)
        words = arena_format(arena, " %s %s no pending operation: %s outside of recorded collectives.",
                             ranks_words(arena, "Rank", of_idle), verb(of_idle, "has", "have"),
                             verb(of_idle, "its CPU is", "their CPUs are"));
    if (of_stale.n)
        words = arena_format(
            arena,
            "%s Operations that are pending in the dump%s of %s are complete on other ranks: the GPU or the "
            "host process does not answer.",
            words, of_stale.n == 1 ? "" : "s", ranks_words(arena, "rank", of_stale));
    return words;
}

static const char *describe_missing(const struct sutra_hang *hang, struct arena *arena, struct hang_root *root) {
    const struct hang_node *node = &hang->nodes[root->node];
    const char *who = ranks_words(arena, "Rank", root->ranks), *name = group_name(hang, arena, node->group);
    const char *group = group_words(hang, arena, node->group), *does = verb(root->ranks, "does", "do");
    const char *operation = operation_words(hang, arena, node, root->ranks.list[0]);
    const char *frames = frames_words(hang, arena, root->ranks, root->ranks_frames, ", last call");
    const char *arrived = arrived_frames_words(hang, arena, node, (struct hang_ranks){0});
    const bool has_no_dump = root->cause == HANG_DUMP_MISSING;
    const char *absent = absent_ranks_words(hang, arena, root);
    if (has_no_dump)
        absent = arena_format(arena, " %s %s no dump; no other member of the group is missing.", who,
                              verb(root->ranks, "has", "have"));
    root->seen = arena_format(arena, "%s%s%s%s", arrived_words(hang, arena, node), timeout_words(arena, root), absent,
                              also_words(hang, arena, root));
    root->where = arena_format(arena, "%s%s%s", frames, *frames && *arrived ? " " : "", arrived);
    if (has_no_dump) {
        root->check = arena_format(arena, "The next dumps include %s.", ranks_words(arena, "rank", root->ranks));
        return arena_format(arena, "%s may not have arrived at %s of %s: %s no dump.%s", who, operation, group,
                            verb(root->ranks, "the rank has", "these ranks have"),
                            waiting_words(arena, root->waiting, ""));
    }
    root->check = arena_format(arena, "%s %s %s %s group %s.", who, verb(root->ranks, "records", "record"), operation,
                               node->is_p2p ? "in" : "of", name);
    if (root->confidence == HANG_LOW)
        who = arena_format(arena, "%s may be another cause: %s", who, verb(root->ranks, "it", "they"));
    const char *waiting = waiting_words(arena, root->waiting, verb(root->ranks, " for it", " for them"));
    if (!node->is_p2p)
        return arena_format(arena, "%s %s not arrive at %s of %s.%s", who, does, operation, group, waiting);
    if (root->ranks.list[0] == node->from)
        return arena_format(arena, "%s %s not send to rank %" PRId64 " in %s.%s", who, does, node->to, group, waiting);
    return arena_format(arena, "%s %s not receive from rank %" PRId64 " in %s.%s", who, does, node->from, group,
                        waiting);
}

/* ---- Cycles ---- */

#define CYCLE_SHOWN 8

/* Follows the first edge inside the component of a root until a node repeats, or CYCLE_SHOWN nodes are listed. Returns
 * the number of listed nodes. */
static size_t follow_cycle(const struct sutra_hang *hang, uint32_t node, uint32_t list[CYCLE_SHOWN]) {
    size_t n = 0;
    while (n < CYCLE_SHOWN) {
        for (size_t i = 0; i < n; i++)
            if (list[i] == node) { /* nodes before it only lead to the cycle */
                memmove(list, list + i, (n - i) * sizeof *list);
                return n - i;
            }
        list[n++] = node;
        const struct hang_node *at = &hang->nodes[node];
        for (uint32_t i = 0; i < at->n_edges; i++)
            if (hang->nodes[hang->edges[at->first_edge + i].to].component == at->component) {
                node = hang->edges[at->first_edge + i].to;
                break;
            }
    }
    return n;
}

static const char *describe_cycle(const struct sutra_hang *hang, struct arena *arena, struct hang_root *root) {
    uint32_t list[CYCLE_SHOWN], groups[CYCLE_SHOWN] = {0};
    const size_t n = follow_cycle(hang, root->node, list);
    const char *who = ranks_words(arena, "Rank", root->ranks),
               *waiting = root->waiting.n > root->ranks.n ? waiting_words(arena, root->waiting, "") : "";
    root->seen = "";
    for (size_t i = 0; i < n; i++) {
        const struct hang_node *node = &hang->nodes[list[i]];
        groups[i] = node->group;
        const char *operation = operation_words(hang, arena, node, node->arrived.n ? node->arrived.list[0] : -1);
        root->seen = arena_format(arena, "%s%s%s %s in %s of group %s.", root->seen, i ? " " : "",
                                  ranks_words(arena, "Rank", node->arrived), verb(node->arrived, "waits", "wait"),
                                  operation, group_name(hang, arena, node->group));
    }
    root->seen = arena_format(arena, "%s%s", root->seen, timeout_words(arena, root));
    const char *frames = frames_words(hang, arena, root->ranks, root->ranks_frames, ", last call");
    const char *others = arrived_frames_words(hang, arena, &hang->nodes[root->node], root->ranks);
    root->where = arena_format(arena, "%s%s%s", frames, *frames && *others ? " " : "", others);
    qsort(groups, n, sizeof *groups, compare_uint32s);
    const bool is_one = hang->groups[groups[0]].name == hang->groups[groups[n - 1]].name;
    const char *of_groups = is_one ? group_words(hang, arena, groups[0]) : groups_words(hang, arena, groups, n);
    if (root->cause == HANG_P2P_DEADLOCK) {
        root->check =
            arena_format(arena, "The sends and receives of %s complete.", ranks_words(arena, "rank", root->ranks));
        return arena_format(arena, "%s wait for each other in sends and receives of %s.%s", who, of_groups, waiting);
    }
    root->check = arena_format(arena, "All ranks record the operations of %s in the same order.", of_groups);
    if (root->confidence == HANG_LOW)
        return arena_format(arena,
                            "The operations of %s wait for each other: ranks may call them in different orders.%s",
                            of_groups, waiting);
    return arena_format(arena, "The operations of %s wait for each other: %s %s them in another order.%s", of_groups,
                        ranks_words(arena, "rank", root->ranks), verb(root->ranks, "calls", "call"), waiting);
}

/* ---- Mismatches ---- */

/* The value that differs: "broadcast", "8,200 elements", "BFloat16". `like` is the other value; `has_unit` false:
 * "8,200". */
static const char *value_words(const struct sutra_hang *hang, struct arena *arena, enum hang_cause kind,
                               struct hang_record record, struct hang_record like, bool has_unit) {
    const struct flight_entry *entry = hang_entry(hang, record);
    const struct flight_shape *shape = &hang->shapes[entry->shape];
    const struct flight_shape *other = &hang->shapes[hang_entry(hang, like)->shape];
    if (kind == HANG_DTYPE_MISMATCH)
        return string_words(hang, arena, shape->in_types != other->in_types ? shape->in_types : shape->out_types,
                            NAME_COLUMNS);
    if (kind != HANG_SIZE_MISMATCH)
        return string_words(hang, arena, hang->names[entry->name].recorded, NAME_COLUMNS);
    const bool is_input = shape->n_in != other->n_in;
    const uint64_t n = (uint64_t)(is_input ? shape->n_in : shape->n_out);
    if (!has_unit)
        return arena_format(arena, "%s", count_text(n).text);
    return arena_format(
        arena, "%s",
        counted_text(n, is_input ? "element" : "output element", is_input ? "elements" : "output elements").text);
}

/* Why, for one deviating rank; the values are of this rank and of the ranks in `common`. */
static const char *deviation_words(struct arena *arena, enum hang_cause kind, const char *rank, const char *operation,
                                   const char *group, int64_t seq, const char *odd, const char *value,
                                   struct hang_ranks common) {
    const char *run = verb(common, "runs", "run"), *use = verb(common, "uses", "use");
    const char *ranks = common.n == 1 ? arena_format(arena, "rank %" PRId64, common.list[0])
                                      : arena_format(arena, "%s", counted_text(common.n, "rank", "ranks").text);
    switch (kind) {
    case HANG_SIZE_MISMATCH:
    case HANG_DTYPE_MISMATCH:
        return arena_format(arena, "%s runs %s #%" PRId64 " of %s with %s; %s %s %s.", rank, operation, seq, group, odd,
                            ranks, use, value);
    case HANG_ORDER_MISMATCH:
        return arena_format(arena,
                            "%s exchanges #%" PRId64 " and #%" PRId64 " of %s: it runs %s first; %s %s %s first.", rank,
                            seq, seq + 1, group, odd, ranks, run, value);
    case HANG_SKIPPED_COLLECTIVE:
        return arena_format(arena, "%s skips %s #%" PRId64 " of %s; %s %s it.", rank, value, seq, group, ranks, run);
    case HANG_EXTRA_COLLECTIVE:
        return arena_format(arena, "%s runs an extra %s as #%" PRId64 " of %s; %s %s %s as #%" PRId64 ".", rank, odd,
                            seq, group, ranks, run, value, seq);
    default:
        return arena_format(arena, "%s runs %s as #%" PRId64 " of %s; %s %s %s.", rank, odd, seq, group, ranks, run,
                            value);
    }
}

static const char *describe_mismatch(const struct sutra_hang *hang, struct arena *arena, struct hang_root *root) {
    if (hang->nodes[root->node].mismatch.kind != root->cause) /* in a cycle, the order of groups differs */
        return describe_cycle(hang, arena, root);
    const struct hang_node *node = &hang->nodes[root->node];
    const struct hang_mismatch *m = &node->mismatch;
    const char *group = group_words(hang, arena, node->group), *name = group_name(hang, arena, node->group);
    const char *waiting = waiting_words(arena, root->waiting, "");
    const bool is_here = m->seq == node->seq;
    root->check = arena_format(arena, "No mismatch in group %s.", name);
    root->where = arrived_frames_words(hang, arena, node, (struct hang_ranks){0});
    if (m->kind == HANG_GROUP_MISMATCH) {
        root->check = arena_format(arena, "All ranks record the same members of group %s.", name);
        root->seen = arena_format(arena, "%s%s The lists of members of group %s in the dumps overlap and differ.",
                                  arrived_words(hang, arena, node), timeout_words(arena, root), name);
        return arena_format(arena, "The ranks do not agree on the members of %s: %s %s in only some of the lists.%s",
                            group, ranks_words(arena, "rank", m->ranks), verb(m->ranks, "is", "are"), waiting);
    }
    const int64_t odd_rank = hang->ranks[m->odd.rank].rank, common_rank = hang->ranks[m->common.rank].rank;
    const struct flight_shape *odd_shape = &hang->shapes[hang_entry(hang, m->odd)->shape];
    const struct flight_shape *common_shape = &hang->shapes[hang_entry(hang, m->common)->shape];
    const char *odd = value_words(hang, arena, m->kind, m->odd, m->common, true);
    const char *common = value_words(hang, arena, m->kind, m->common, m->odd, false);
    const char *operation =
        string_words(hang, arena, hang->names[hang_entry(hang, m->common)->name].recorded, NAME_COLUMNS);
    if (node->is_p2p) { /* `odd` is the send, `common` the receive */
        const int64_t n_sent = odd_shape->n_in ? odd_shape->n_in : odd_shape->n_out;
        const int64_t n_received = common_shape->n_out ? common_shape->n_out : common_shape->n_in;
        if (m->kind == HANG_SIZE_MISMATCH) {
            odd = arena_format(arena, "%s", counted_text((uint64_t)n_sent, "element", "elements").text);
            common = arena_format(arena, "%s", count_text((uint64_t)n_received).text);
        }
        root->seen = arena_format(arena, "The send and the receive are pending.%s", timeout_words(arena, root));
        return arena_format(arena,
                            "Rank %" PRId64 " sends %s to rank %" PRId64 " in %s; rank %" PRId64 " receives %s.%s",
                            node->from, odd, node->to, group, node->to, common, waiting);
    }
    if (m->odd.rank == m->common.rank) { /* the sums of an all_to_all differ */
        root->seen =
            arena_format(arena, "All members record %s #%" PRId64 ".%s", operation, m->seq, timeout_words(arena, root));
        return arena_format(arena,
                            "The ranks of %s send another number of elements than they receive in %s #%" PRId64 ".%s",
                            group, operation, m->seq, waiting);
    }
    if (strcmp(odd, common) == 0) { /* the first parts are equal */
        root->seen =
            arena_format(arena, "#%" PRId64 " is coalesced: its first part is %s on all ranks, a later part differs.%s",
                         m->seq, operation, timeout_words(arena, root));
        return arena_format(arena, "%s %s not match rank %" PRId64 " in the parts of %s #%" PRId64 " of %s.%s",
                            ranks_words(arena, "Rank", m->ranks), verb(m->ranks, "does", "do"), common_rank, operation,
                            m->seq, group, waiting);
    }

    /* The ranks with the value of `common`: the other arrived ranks, if all ranks arrived at the mismatch. */
    int64_t *list = arena_alloc(arena, node->arrived.n + 1, sizeof *list);
    struct hang_ranks like = {list, 0};
    for (size_t i = 0; list && is_here && !m->is_tie && i < node->arrived.n; i++)
        if (!hang_ranks_have(m->ranks, node->arrived.list[i]))
            list[like.n++] = node->arrived.list[i];
    if (list && like.n == 0)
        list[like.n++] = common_rank;
    if (!list)
        return "";
    const bool has_operation = m->kind == HANG_SIZE_MISMATCH || m->kind == HANG_DTYPE_MISMATCH;
    const char *types = string_words(hang, arena, common_shape->in_types, NAME_COLUMNS);
    const bool has_types = m->kind == HANG_SIZE_MISMATCH && *types && common_shape->in_types == odd_shape->in_types;
    root->seen = arena_format(
        arena,
        "%s%s#%" PRId64 "%s%s: %s on %s, %s on rank %" PRId64
        "%s. All earlier recorded collectives of the group match.%s",
        has_operation ? operation : "", has_operation ? " " : "", m->seq, has_types ? ", " : "", has_types ? types : "",
        value_words(hang, arena, m->kind, m->common, m->odd, true), ranks_words(arena, "rank", like),
        value_words(hang, arena, m->kind, m->odd, m->common, false), odd_rank,
        m->ranks.n > 1 && !m->is_tie ? arena_format(arena, " (%s deviate)", ranks_words(arena, "rank", m->ranks)) : "",
        timeout_words(arena, root));
    const struct hang_ranks one = {&odd_rank, 1};
    const uint32_t odd_frame = hang_entry(hang, m->odd)->frame, common_frame = hang_entry(hang, m->common)->frame;
    const char *odd_where = frames_words(hang, arena, one, &odd_frame, "");
    const char *common_where = is_here && !m->is_tie
                                   ? arrived_frames_words(hang, arena, node, m->ranks)
                                   : frames_words(hang, arena, (struct hang_ranks){&common_rank, 1}, &common_frame, "");
    root->where = arena_format(arena, "%s%s%s", odd_where, *odd_where && *common_where ? " " : "", common_where);
    if (m->ranks.n == 1 && !m->is_tie)
        return arena_format(arena, "%s%s",
                            deviation_words(arena, m->kind, ranks_words(arena, "Rank", m->ranks), operation, group,
                                            m->seq, odd, common, like),
                            waiting);
    const char *who =
        m->is_tie ? "The ranks do not agree on"
                  : arena_format(arena, "%s do not match the other ranks in", ranks_words(arena, "Rank", m->ranks));
    return arena_format(arena, "%s %s%s#%" PRId64 " of %s: rank %" PRId64 " %s %s, rank %" PRId64 " %s.%s", who,
                        has_operation ? operation : "", has_operation ? " " : "", m->seq, group, odd_rank,
                        has_operation ? "uses" : "runs", odd, common_rank, common, waiting);
}

/* ---- All ranks arrived ---- */

static const char *describe_arrived(const struct sutra_hang *hang, struct arena *arena, struct hang_root *root) {
    const struct hang_node *node = &hang->nodes[root->node];
    const char *group = group_words(hang, arena, node->group), *name = group_name(hang, arena, node->group);
    const char *waiting = waiting_words(arena, root->waiting, ""), *timeout = timeout_words(arena, root);
    const char *operation = node->is_p2p ? arena_format(arena, "send and receive %s", number_words(arena, node))
                                         : operation_words(hang, arena, node, 0);
    const char *shape = shape_words(hang, arena, hang_entry(hang, node->records[0]));
    root->where = arrived_frames_words(hang, arena, node, (struct hang_ranks){0});
    root->check = node->is_p2p ? arena_format(arena, "The %s of group %s complete.", operation, name)
                               : arena_format(arena, "%s of group %s completes.", operation, name);
    if (node->is_p2p && node->from == FLIGHT_ANY) {
        root->seen = arena_format(arena, "%s%s", arrived_words(hang, arena, node), timeout);
        root->remedy = "Find the send that this receive expects: a receive from any rank does not record its source.";
        root->check = arena_format(arena, "The receive of rank %" PRId64 " completes.", node->to);
        return arena_format(arena,
                            "Rank %" PRId64 " waits in a receive from any rank of %s: no pending send to this rank "
                            "is recorded.%s",
                            node->to, group, root->waiting.n > 1 ? waiting : "");
    }
    if (root->cause == HANG_GPU_NOT_ARRIVED) {
        int64_t *list = arena_alloc(arena, node->arrived.n, sizeof *list);
        struct hang_ranks started = {list, 0};
        for (size_t i = 0; i < node->arrived.n && list; i++)
            if (!hang_ranks_have(root->ranks, node->arrived.list[i]))
                list[started.n++] = node->arrived.list[i];
        root->seen =
            arena_format(arena, "The kernel of %s%s runs on %s; %s only queued it.%s", operation, shape,
                         ranks_words(arena, "rank", started), ranks_words(arena, "rank", root->ranks), timeout);
        root->check =
            arena_format(arena, "The dump%s of %s %s %s as started.", root->ranks.n == 1 ? "" : "s",
                         ranks_words(arena, "rank", root->ranks), verb(root->ranks, "records", "record"), operation);
        return arena_format(arena, "The GPU%s of %s %s not started %s of %s; %s %s its kernel.%s",
                            root->ranks.n == 1 ? "" : "s", ranks_words(arena, "rank", root->ranks),
                            verb(root->ranks, "has", "have"), operation, group,
                            counted_text(started.n, "rank", "ranks").text, verb(started, "runs", "run"), waiting);
    }
    const bool is_known = hang->groups[node->group].has_known_members;
    const char *several = is_known ? "members" : "ranks with records", *members;
    if (node->arrived.n == 1)
        members = is_known ? "The only member" : "The only rank with records";
    else if (node->arrived.n == 2)
        members = arena_format(arena, "Both %s", several);
    else
        members = arena_format(arena, "All %s %s", count_text(node->arrived.n).text, several);
    if (root->confidence == HANG_LOW) {
        root->seen =
            arena_format(arena, "%s recorded %s%s with the same signature; no start of the kernel is recorded.%s",
                         members, operation, shape, timeout);
        root->remedy = arena_format(arena, "%s" TIMING_REMEDY, root->remedy);
        return arena_format(arena,
                            "%s arrived at %s of %s, which does not complete: its kernel may hang in NCCL or the "
                            "network, or a GPU may not have started it.%s",
                            members, operation, group, waiting);
    }
    root->seen = arena_format(arena, "The kernel of %s%s runs on %s.%s", operation, shape,
                              ranks_words(arena, "rank", node->arrived), timeout);
    return arena_format(arena, "%s arrived at %s of %s and started its kernel, which does not end.%s", members,
                        operation, group, waiting);
}

/* ---- Causes ---- */

#define CONTROL_FLOW                                                                                                   \
    "Make the control flow the same on all ranks: conditions, loops and early returns around this call must not "      \
    "depend on the rank or its data. TORCH_DISTRIBUTED_DEBUG=DETAIL finds the call."

/* The title of a cause; its remedy: `remedy`, or `remedy` for one or several ranks, the ranks, and `end`; why the
 * confidence may not be high; and the function that sets the other texts of a root and returns `why`. */
static const struct cause_words {
    const char *title, *remedy, *of_several, *end, *doubt;
    const char *(*describe)(const struct sutra_hang *hang, struct arena *arena, struct hang_root *root);
} causes[HANG_N_CAUSES] = {
#define MISMATCH(TITLE, REMEDY)                                                                                        \
    {                                                                                                                  \
        .title = TITLE, .remedy = REMEDY,                                                                              \
        .doubt = " No signature is the most frequent one: the dumps do not show which rank deviates.",                 \
        .describe = describe_mismatch                                                                                  \
    }
    [HANG_NONE] = {.title = "NO PENDING OPERATION", .remedy = hang_none_remedy},
    [HANG_TYPE_MISMATCH] = MISMATCH("DIFFERENT COLLECTIVE", CONTROL_FLOW),
    [HANG_SIZE_MISMATCH] =
        MISMATCH("DIFFERENT SIZES", "Make the tensor the same size on all ranks: pad it, or gather with sizes first. "
                                    "TORCH_DISTRIBUTED_DEBUG=DETAIL checks sizes per call."),
    [HANG_DTYPE_MISMATCH] = MISMATCH(
        "DIFFERENT TYPES", "Use the same dtype on all ranks: the same autocast, and the same casts of parameters "
                           "and inputs. TORCH_DISTRIBUTED_DEBUG=DETAIL finds the call."),
    [HANG_ORDER_MISMATCH] = MISMATCH("DIFFERENT ORDER", CONTROL_FLOW),
    [HANG_SKIPPED_COLLECTIVE] = MISMATCH("SKIPPED COLLECTIVE", CONTROL_FLOW),
    [HANG_EXTRA_COLLECTIVE] = MISMATCH("EXTRA COLLECTIVE", CONTROL_FLOW),
    [HANG_GROUP_MISMATCH] = {.title = "DIFFERENT MEMBERS",
                             .remedy =
                                 "Call new_group on all ranks, with the same list of ranks and in the same order.",
                             .doubt = " The dumps do not show which list of members is right.",
                             .describe = describe_mismatch},
    [HANG_P2P_DEADLOCK] = {.title = "SEND AND RECEIVE DEADLOCK",
                           .remedy = "Let one side receive first, or pass the sends and receives of both sides to "
                                     "batch_isend_irecv.",
                           .doubt = " The dumps do not show which rank deviates.",
                           .describe = describe_cycle},
    [HANG_RANK_NOT_ARRIVED] = {.title = "RANK NOT ARRIVED",
                               .remedy = "Inspect the process of ",
                               .of_several = "Inspect the processes of ",
                               .end = ": py-spy dump --pid PID --native; look for data loading, file systems, locks, "
                                      "exceptions that are caught.",
                               .doubt = "",
                               .describe = describe_missing},
    [HANG_DUMP_MISSING] = {.title = "DUMP MISSING",
                           .remedy = "Find out why there is no dump of ",
                           .of_several = "Find out why there are no dumps of ",
                           .end =
                               ": exit code, OOM killer, teardown of the job (pytorch issue 196968). Set "
                               "TORCH_NCCL_DUMP_ON_TIMEOUT=1, and TORCH_FR_DUMP_TEMP_FILE to a path on a shared disk.",
                           .doubt = " A missing dump does not prove that the rank did not arrive.",
                           .describe = describe_missing},
    [HANG_GPU_NOT_ARRIVED] = {.title = "GPU NOT ARRIVED",
                              .remedy = "Find the earlier kernel that hangs or is slow on the GPU of ",
                              .of_several = "Find the earlier kernels that hang or are slow on the GPUs of ",
                              .end = ": cuda-gdb, CUDA_LAUNCH_BLOCKING=1, compute-sanitizer.",
                              .doubt = " The watchdog may not have recorded the last kernel starts.",
                              .describe = describe_arrived},
    [HANG_STUCK_IN_KERNEL] = {.title = "STUCK IN THE KERNEL",
                              .remedy = "Check NCCL and the network: NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=NET, port "
                                        "counters (ibstat, perfquery), and nccl-tests on these nodes.",
                              .doubt = " The dumps do not record why a kernel does not end.",
                              .describe = describe_arrived},
#undef MISMATCH
};

/* The same for a rank whose dump is out of date. */
static const struct cause_words stale_words = {
    .title = "RANK NOT ARRIVED",
    .remedy = "Check the GPU and the host of ",
    .of_several = "Check the GPUs and the hosts of ",
    .end = ": dmesg (Xid errors), nvidia-smi -q. Drain a node that does not answer; else inspect the process with "
           "py-spy dump --pid PID --native.",
    .describe = describe_missing,
};

/* ---- Confidence ---- */

/* Ranks without a dump that a group may have: Gloo records no members, so that these ranks are unknown. */
static const char *unlisted_words(const struct sutra_hang *hang, struct arena *arena) {
    int64_t gaps[64];
    size_t n = 0;
    bool is_unknown = false;
    for (uint32_t g = 0; g < hang->n_groups; g++)
        is_unknown |= !hang->groups[g].has_known_members;
    if (!is_unknown || hang->missing_dumps.n > 0)
        return "";
    int64_t next = 0;
    for (uint32_t r = 0; r < hang->n_ranks; r++, next++)
        for (; next < hang->ranks[r].rank && n < sizeof gaps / sizeof *gaps; next++)
            gaps[n++] = next;
    if (n > 0)
        return arena_format(arena, " There is no dump of %s: %s ended, or %s not of the job.",
                            ranks_words(arena, "rank", (struct hang_ranks){gaps, n}),
                            n == 1 ? "the rank has" : "these ranks have", n == 1 ? "is" : "are");
    return hang->n_roots > 0 ? "" : " The members of groups are not recorded: other ranks may have no dump.";
}

static const char *confidence_words(const struct sutra_hang *hang, struct arena *arena) {
    const struct hang_root *root = hang->n_roots ? &hang->roots[0] : NULL;
    const size_t n_missing = hang->missing_dumps.n, n_world = hang->world.n;
    const char *dumps = "both dumps are present.", *level = hang_confidence_names[hang->confidence];
    if (n_missing > 0)
        dumps = arena_format(arena, "%s of %s dumps %s present, none of %s.", count_text(hang->n_ranks).text,
                             count_text(n_world).text, hang->n_ranks == 1 ? "is" : "are",
                             ranks_words(arena, "rank", hang->missing_dumps));
    else if (n_world == 1)
        dumps = "the dump of the only known rank is present.";
    else if (n_world > 2)
        dumps = arena_format(arena, "all %s dumps are present.", count_text(n_world).text);
    const char *unlisted = unlisted_words(hang, arena);
    if (*unlisted && hang->n_ranks > 1)
        dumps = arena_format(arena, "%s dumps are present.", count_text(hang->n_ranks).text);
    if (!root)
        return arena_format(arena, "%s: %s%s", level, dumps, unlisted);

    const struct hang_node *node = &hang->nodes[root->node];
    const bool is_mismatch = node->mismatch.kind == root->cause, is_low = hang->confidence == HANG_LOW;
    const char *doubt = causes[root->cause].doubt;
    const bool is_all = root->cause == HANG_STUCK_IN_KERNEL || root->cause == HANG_GPU_NOT_ARRIVED;
    if (hang->confidence == HANG_HIGH)
        doubt = "";
    else if (is_all && !hang->groups[node->group].has_known_members)
        doubt = arena_format(arena,
                             " The members of group %s are not recorded: a member may be missing, for example if ranks "
                             "create groups in another order.",
                             group_name(hang, arena, node->group));
    else if (root->cause == HANG_RANK_NOT_ARRIVED && !hang->groups[node->group].has_known_members)
        doubt = arena_format(arena, " The members of group %s are not recorded.", group_name(hang, arena, node->group));
    else if (root->cause == HANG_RANK_NOT_ARRIVED && node->no_dump.n)
        doubt = arena_format(arena, " %s may not have arrived either.", ranks_words(arena, "Rank", node->no_dump));
    else if (root->cause == HANG_STUCK_IN_KERNEL && is_low)
        doubt = " Without TORCH_NCCL_ENABLE_TIMING=1, dumps record no start of a kernel.";
    else if (root->cause == HANG_ORDER_MISMATCH && !is_mismatch)
        doubt = is_low ? " The records do not show which rank deviates."
                       : " The order of the records shows the deviating rank, not the reason.";
    else if (is_mismatch && node->is_p2p)
        doubt = " The dumps do not show which side is right.";

    uint32_t n_late = 0;
    for (uint32_t r = 0; r < hang->n_ranks; r++)
        n_late += hang_lost_beginning(&hang->ranks[r]);
    const char *late = "";
    if (n_late > 0)
        late = arena_format(arena, " %s the first operations: earlier mismatches are unknown.",
                            counted_text(n_late, "dump lacks", "dumps lack").text);
    bool has_timed_out = false;
    for (uint32_t i = 0; i < hang->n_nodes && !has_timed_out; i++)
        for (size_t k = 0; k < hang->nodes[i].arrived.n && !has_timed_out; k++)
            has_timed_out = hang_entry(hang, hang_whole(hang, hang->nodes[i].records[k]))->timed_out;
    return arena_format(
        arena, "%s: %s%s%s%s%s", level, dumps, doubt, unlisted, late,
        has_timed_out || is_mismatch
            ? ""
            : " No timeout is recorded: pending operations are normal in a running job; if the job still "
              "runs, compare a second dump.");
}

/* ---- Texts of all roots ---- */

enum sutra_status hang_make_texts(struct sutra_hang *hang, struct sutra_error *error) {
    struct arena *arena = &hang->arena;
    bool has_frames = false;
    for (uint32_t r = 0; r < hang->n_ranks && !has_frames; r++)
        for (uint32_t i = 0; i < hang->ranks[r].n_entries && !has_frames; i++)
            has_frames = hang->ranks[r].entries[i].frame != STRING_NONE;
    hang->why = hang->n_entries
                    ? "No recorded operation is pending: the dumps show no hang in a collective, send or receive."
                    : "The dumps contain no operations.";
    for (uint32_t i = 0; i < hang->n_roots; i++) {
        struct hang_root *root = &hang->roots[i];
        const bool is_stale = root->cause == HANG_RANK_NOT_ARRIVED && root->is_stale;
        const struct cause_words *words = is_stale ? &stale_words : &causes[root->cause];
        root->title = words->title;
        root->remedy = words->remedy;
        if (words->end)
            root->remedy = arena_format(arena, "%s%s%s", root->ranks.n > 1 ? words->of_several : words->remedy,
                                        ranks_words(arena, "rank", root->ranks), words->end);
        root->seen = root->where = root->check = "";
        const char *why = words->describe(hang, arena, root);
        if (!has_frames)
            root->where = FRAMES_REMEDY;
        if (i == 0)
            hang->why = why;
    }
    hang->confidence_text = confidence_words(hang, arena);
    return arena_status(arena, error);
}

/* ---- The list of waits ---- */

/* The distance of each node to the nearest root, and UINT32_MAX if it has no path to one. NULL: out of memory. */
static const uint32_t *find_distances(const struct sutra_hang *hang, struct arena *arena) {
    uint32_t *distance = arena_alloc(arena, hang->n_nodes, sizeof *distance);
    uint32_t *queue = arena_alloc(arena, hang->n_nodes, sizeof *queue);
    if (arena->failed)
        return NULL;
    for (uint32_t i = 0; i < hang->n_nodes; i++)
        distance[i] = UINT32_MAX;
    uint32_t n = 0;
    for (uint32_t i = 0; i < hang->n_roots; i++)
        if (distance[hang->roots[i].node] == UINT32_MAX) {
            distance[hang->roots[i].node] = 0;
            queue[n++] = hang->roots[i].node;
        }
    for (uint32_t i = 0; i < hang->n_nodes; i++) /* merged into a root */
        if (hang->nodes[i].n_edges == 0 && distance[i] == UINT32_MAX) {
            distance[i] = 1;
            queue[n++] = i;
        }
    for (uint32_t at = 0; at < n; at++)
        for (uint32_t i = hang->first_back[queue[at]]; i < hang->first_back[queue[at] + 1]; i++)
            if (distance[hang->back[i]] == UINT32_MAX) {
                distance[hang->back[i]] = distance[queue[at]] + 1;
                queue[n++] = hang->back[i];
            }
    return distance;
}

/* What a node waits for. */
static const char *wait_words(const struct sutra_hang *hang, struct arena *arena, const struct hang_node *node,
                              const uint32_t *distance) {
    const struct hang_edge *edge = NULL;
    for (uint32_t i = 0; i < node->n_edges; i++) {
        const struct hang_edge *other = &hang->edges[node->first_edge + i];
        if (!edge || distance[other->to] < distance[edge->to])
            edge = other;
    }
    if (edge) {
        const struct hang_node *to = &hang->nodes[edge->to];
        const bool is_same = hang->groups[to->group].name == hang->groups[node->group].name;
        return arena_format(arena, "%s %s%s%s (rank %" PRId64 ")", edge->is_queued ? "queued after" : "waits in",
                            group_name(hang, arena, to->group), is_same ? " " : "",
                            is_same ? number_words(arena, to) : "", edge->rank);
    }
    const size_t n = node->is_p2p ? 1 + (size_t)(node->from != FLIGHT_ANY && node->from != node->to)
                                  : hang->groups[node->group].members.n;
    const char *missing = hang_ranks_text(arena, node->missing, 3), *no_dump = hang_ranks_text(arena, node->no_dump, 3);
    return arena_format(arena, "%s of %s arrived%s%s%s%s", count_text(node->arrived.n).text, count_text(n).text,
                        *missing ? ", missing " : "", missing, *no_dump ? ", no dump of " : "", no_dump);
}

struct wait_key {
    uint32_t distance, order, node;
};
ORDER_BY(compare_waits, struct wait_key, ASCENDING(distance) ASCENDING(order))

const struct hang_wait *hang_list_waits(const struct sutra_hang *hang, struct arena *arena, uint32_t n_texts) {
    const uint32_t *distance = find_distances(hang, arena);
    struct wait_key *keys = arena_alloc(arena, hang->n_nodes, sizeof *keys);
    struct hang_wait *waits = arena_zeros(arena, hang->n_nodes, sizeof *waits);
    if (arena->failed || hang->n_nodes == 0)
        return arena->failed ? NULL : waits;
    for (uint32_t i = 0; i < hang->n_nodes; i++)
        keys[i] = (struct wait_key){distance[i], i, i};
    for (uint32_t i = hang->n_roots; i-- > 0;)
        keys[hang->roots[i].node].order = i;
    qsort(keys, hang->n_nodes, sizeof *keys, compare_waits);
    for (uint32_t i = 0; i < hang->n_nodes; i++) {
        const struct hang_node *node = &hang->nodes[keys[i].node];
        waits[i].node = keys[i].node;
        waits[i].distance = keys[i].distance;
        if (i >= n_texts)
            continue;
        waits[i].group = group_name(hang, arena, node->group);
        waits[i].description = description_words(hang, arena, node->group);
        waits[i].text = wait_words(hang, arena, node, distance);
        waits[i].number = number_words(arena, node);
    }
    return arena->failed ? NULL : waits;
}

const char *hang_waiting_groups_text(const struct sutra_hang *hang, struct arena *arena) {
    uint32_t *groups = arena_alloc(arena, hang->n_nodes, sizeof *groups);
    uint32_t *roots = arena_alloc(arena, hang->n_roots, sizeof *roots);
    bool *is_root = arena_zeros(arena, (size_t)hang->n_groups + 1, sizeof *is_root);
    size_t n = 0;
    if (arena->failed)
        return "";
    for (uint32_t i = 0; i < hang->n_roots; i++) {
        roots[i] = hang->nodes[hang->roots[i].node].group;
        is_root[roots[i]] = true;
    }
    for (uint32_t i = 0; i < hang->n_nodes; i++) {
        const struct hang_node *node = &hang->nodes[i];
        bool is_in_cycle = false;
        for (uint32_t k = 0; k < node->n_edges; k++)
            is_in_cycle |= hang->nodes[hang->edges[node->first_edge + k].to].component == node->component;
        if (node->n_edges > 0 && !is_in_cycle && node->culprits.n == 0 && !is_root[node->group])
            groups[n++] = node->group;
    }
    if (n == 0)
        return "";
    qsort(roots, hang->n_roots, sizeof *roots, compare_uint32s);
    const bool is_one = hang->groups[groups[0]].name == hang->groups[groups[n - 1]].name;
    return arena_format(arena, "%s (%s for %s)", groups_words(hang, arena, groups, n),
                        is_one ? "it waits" : "they wait", groups_words(hang, arena, roots, hang->n_roots));
}
