/*
 * event_tree.cu - the call tree and the ids of tensors on the GPU, by the rules of match/call_tree.h; and max_tree.
 *
 * Call tree: closings are recomputed for all events in parallel until nothing changes, one round for nested events and
 * one more for each overlap that builds on another; then the adoptions in the same way. The CPU does tables that need
 * more than MAX_ROUNDS, and tables whose starts descend although events fall back on other threads (whole microseconds,
 * see host/tree/tree.c): their result depends on the order in which the replay reads the stacks. O(n log n) per round;
 * 95 bytes per event.
 *
 * Tensor ids: after a sort, uses of one address are neighbours; a storage begins with the first of them and after each
 * use that frees. Storages are numbered by their first rows. Uses of one tensor, sorted in the same way, find its first
 * storage. Leaders are minima, and groups are the numbers of storages that lead themselves: jumps along leaders halve
 * the distance each time. O(n log n), 75 bytes per use.
 */
#include "cuda/engine.h"
#include "cuda/event_tree.h"
#include "cuda/gpu.h"
#include "cuda/table.h"

/* The levels of a max_tree. Only nodes with all eight children are made; searches enter no others. */

struct max_tree_level {
    const uint64_t *children;
    uint64_t *nodes;
};

SHARED void fill_node(const struct max_tree_level &level, row_t node) {
    uint64_t largest = 0;
    for (uint64_t i = (uint64_t)node * 8; i < (uint64_t)node * 8 + 8; i++)
        largest = level.children[i] > largest ? level.children[i] : largest;
    level.nodes[node] = largest;
}

struct max_tree max_tree_build(struct gpu *gpu, uint64_t *keys, row_t n) {
    struct max_tree tree = {{keys}, 1};
    for (row_t n_nodes = n / 8; n_nodes; n_nodes /= 8) {
        struct max_tree_level level = {tree.level[tree.n_levels - 1], gpu_take<uint64_t>(gpu, n_nodes)};
        gpu_each<fill_node>(gpu, n_nodes, level);
        tree.level[tree.n_levels++] = level.nodes;
    }
    return tree;
}

struct storage_columns {
    row_t n;
    const uint64_t *tensor, *storage;
    const uint32_t *device; /* may be NULL */
    const uint8_t *use;
    struct pairs pairs;
    row_t *head;    /* by position: the position at which its storage, or tensor, begins */
    row_t *numbers; /* by row: storages that begin up to here */
    uint32_t *number, *group;
    uint32_t *leader, *next_leader; /* by storage */
    row_t *selves;                  /* by storage: storages up to here that lead themselves */
    uint32_t *changed;
};

/* ---- Storages ---- */

SHARED void set_device(const struct storage_columns &c, row_t row) {
    c.pairs.keys[row] = c.device ? c.device[row] : 0;
    c.pairs.rows[row] = row;
}

SHARED void set_storage(const struct storage_columns &c, row_t position) {
    c.pairs.keys[position] = c.storage[c.pairs.rows[position]];
}

SHARED bool begins_storage(const struct storage_columns &c, row_t position) {
    if (position == 0)
        return true;
    row_t row = c.pairs.rows[position], before = c.pairs.rows[position - 1];
    return c.storage[row] != c.storage[before] || (c.device && c.device[row] != c.device[before]) ||
           c.use[before] == STORAGE_FREED;
}

SHARED void set_head(const struct storage_columns &c, row_t position) {
    bool begins = begins_storage(c, position);
    c.head[position] = begins ? position : 0;
    c.numbers[c.pairs.rows[position]] = begins;
}

SHARED void set_number(const struct storage_columns &c, row_t position) {
    c.number[c.pairs.rows[position]] = c.numbers[c.pairs.rows[c.head[position]]] - 1;
}

/* ---- Leaders ---- */

SHARED void set_tensor(const struct storage_columns &c, row_t row) {
    c.pairs.keys[row] = c.use[row] == STORAGE_INPUT ? c.tensor[row] : 0;
    c.pairs.rows[row] = row;
    c.leader[row] = STORAGE_NONE;
}

/* Uses without a tensor follow the uses with one. */
SHARED void set_tensor_kind(const struct storage_columns &c, row_t position) {
    c.pairs.keys[position] = c.use[c.pairs.rows[position]] != STORAGE_INPUT;
}

SHARED void set_tensor_head(const struct storage_columns &c, row_t position) {
    row_t row = c.pairs.rows[position];
    bool same = position && c.use[row] == STORAGE_INPUT && c.tensor[row] == c.tensor[c.pairs.rows[position - 1]];
    c.head[position] = same ? 0 : position;
}

SHARED void lead(const struct storage_columns &c, row_t position) {
    row_t row = c.pairs.rows[position];
    if (c.use[row] != STORAGE_INPUT)
        return;
    uint32_t storage = c.number[row], first = c.number[c.pairs.rows[c.head[position]]];
    uint32_t smaller = first < storage ? first : storage, larger = first < storage ? storage : first;
    keep_min(&c.leader[larger], smaller);
    keep_min(&c.leader[smaller], smaller);
}

/* ---- Groups ---- */

SHARED void set_self(const struct storage_columns &c, row_t storage) {
    c.selves[storage] = c.leader[storage] == storage;
}

SHARED void jump(const struct storage_columns &c, row_t storage) {
    uint32_t leader = c.leader[storage], next = leader == STORAGE_NONE ? leader : c.leader[leader];
    c.next_leader[storage] = next;
    if (next != leader)
        set_bits(c.changed, 1);
}

SHARED void set_tensor_group(const struct storage_columns &c, row_t row) {
    uint32_t leader = c.leader[c.number[row]];
    c.group[row] = leader == STORAGE_NONE ? STORAGE_NONE : c.selves[leader] - 1;
}

void gpu_tensor_groups(struct gpu *gpu, struct tensor_groups_step *step) {
    const struct storage_uses *uses = step->uses;
    row_t n = uses->n;
    struct storage_columns c = {};
    gpu_enter(gpu, GPU_UP);
    c.n = n;
    c.tensor = gpu_up(gpu, uses->tensor, n);
    c.storage = gpu_up(gpu, uses->storage, n);
    c.device = uses->device ? gpu_up(gpu, uses->device, n) : NULL;
    c.use = gpu_up(gpu, uses->use, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    c.pairs = pairs_take(gpu, n);
    c.head = gpu_take<row_t>(gpu, n);
    c.numbers = gpu_take<row_t>(gpu, n);
    c.number = gpu_take<uint32_t>(gpu, n);
    c.group = gpu_take<uint32_t>(gpu, n);
    c.leader = gpu_take<uint32_t>(gpu, n);
    c.next_leader = gpu_take<uint32_t>(gpu, n);
    c.selves = gpu_take<row_t>(gpu, n);
    c.changed = gpu_take_zeros<uint32_t>(gpu, 1);

    /* Number the storages. */
    gpu_each<set_device>(gpu, n, c);
    if (c.device)
        gpu_sort(gpu, &c.pairs, n, 32);
    gpu_each<set_storage>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, 64);
    gpu_each<set_head>(gpu, n, c);
    gpu_scan_max(gpu, c.head, n);
    gpu_scan_sum(gpu, c.numbers, n);
    gpu_each<set_number>(gpu, n, c);

    /* Find the leaders. */
    gpu_each<set_tensor>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, 64);
    gpu_each<set_tensor_kind>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, 1);
    gpu_each<set_tensor_head>(gpu, n, c);
    gpu_scan_max(gpu, c.head, n);
    gpu_each<lead>(gpu, n, c);

    /* Number the groups and follow the leaders to them. */
    gpu_each<set_self>(gpu, n, c);
    gpu_scan_sum(gpu, c.selves, n);
    for (uint32_t more = 1; more && !gpu->failed;) {
        gpu_each<jump>(gpu, n, c);
        more = 0;
        gpu_down(gpu, &more, c.changed, 1);
        gpu_fill(gpu, c.changed, 0, sizeof *c.changed);
        uint32_t *leader = c.leader;
        c.leader = c.next_leader;
        c.next_leader = leader;
    }
    gpu_each<set_tensor_group>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->number, c.number, n);
    gpu_down(gpu, step->group, c.group, n);
}

#define MAX_ROUNDS 64

struct event_flags {
    uint32_t falls_back, forwards;
};

struct event_columns {
    row_t n;
    uint32_t n_threads;
    const int64_t *start, *end;
    const uint32_t *thread, *forward; /* forward may be NULL */
    const uint8_t *placed;            /* may be NULL */
    uint32_t *group;                  /* by row: its thread; n_threads if it is placed */
    struct groups rows;               /* by group */
    uint64_t *closing, *next_closing; /* by position: keys; 0: enters no stack */
    struct max_tree closings;
    row_t *below;      /* by position: the position below, or ROW_NONE */
    row_t *elsewhere;  /* by position: the row that it finds on its forward thread, or ROW_NONE */
    uint32_t *adopted; /* by thread: the first row that finds a parent elsewhere, or ROW_NONE */
    struct event_flags *flags;
    uint32_t *changed; /* by this round */
    row_t *parent;
    int64_t *closes;
};

SHARED int64_t closing_of(uint64_t key) {
    return (int64_t)(key ^ (uint64_t)1 << 63);
}

SHARED void set_groups(const struct event_columns &c, row_t first) {
    struct event_flags flags = {0, 0};
    for (uint64_t row = first; row < c.n; row += SHARES) {
        bool placed = c.placed && c.placed[row];
        c.group[row] = placed ? c.n_threads : c.thread[row];
        flags.falls_back |= row && c.start[row] < c.start[row - 1];
        flags.forwards |= !placed && c.forward && c.forward[row] != THREAD_NONE;
    }
    set_bits(&c.flags->falls_back, flags.falls_back);
    set_bits(&c.flags->forwards, flags.forwards);
}

SHARED uint64_t closing_key(const struct event_columns &c, row_t row, int64_t below) {
    return event_enters(c.start[row], c.end[row]) ? integer_sort_key(event_closing(c.end[row], below)) : 0;
}

/* Rows that are skipped have the last positions. */
SHARED bool takes_part(const struct event_columns &c, row_t position) {
    return position < c.rows.start[c.n_threads];
}

SHARED void set_own_end(const struct event_columns &c, row_t position) {
    c.closing[position] = takes_part(c, position) ? closing_key(c, c.rows.rows[position], EVENT_OPEN) : 0;
    c.next_closing[position] = 0;
}

SHARED void find_below(const struct event_columns &c, row_t position) {
    if (!takes_part(c, position))
        return;
    row_t row = c.rows.rows[position];
    uint64_t most, start = integer_sort_key(c.start[row]);
    row_t below = tree_last_not_below(&c.closings, c.rows.start[c.rows.number[position]], position, start, &most);
    c.below[position] = below;
    c.next_closing[position] = closing_key(c, row, below == ROW_NONE ? EVENT_OPEN : closing_of(c.closing[below]));
    if (c.next_closing[position] != c.closing[position])
        set_bits(c.changed, 1);
}

/* The first position of a thread that is not before a row. */
SHARED row_t position_from(const struct event_columns &c, uint32_t thread, row_t row) {
    struct bisection at = {c.rows.start[thread], c.rows.start[thread + 1]};
    while (at.low < at.high)
        bisect(&at, c.rows.rows[bisect_middle(at)] < row);
    return at.low;
}

SHARED bool falls_back_on(const struct event_columns &c, row_t position, uint32_t *forward) {
    if (!takes_part(c, position) || c.below[position] != ROW_NONE || !c.forward)
        return false;
    *forward = c.forward[c.rows.rows[position]];
    return *forward != THREAD_NONE;
}

SHARED void find_elsewhere(const struct event_columns &c, row_t position) {
    uint32_t forward;
    uint64_t most;
    c.elsewhere[position] = ROW_NONE;
    if (!falls_back_on(c, position, &forward))
        return;
    row_t row = c.rows.rows[position];
    row_t found = tree_last_not_below(&c.closings, c.rows.start[forward], position_from(c, forward, row),
                                      integer_sort_key(c.start[row]), &most);
    if (found != ROW_NONE)
        c.elsewhere[position] = c.rows.rows[found];
}

SHARED void set_no_adoption(const struct event_columns &c, row_t thread) {
    c.adopted[thread] = ROW_NONE;
}

/* Adoptions move to earlier rows only, so an adoption that is read too late is read in the next round. */
SHARED void adopt(const struct event_columns &c, row_t position) {
    uint32_t forward;
    if (c.closing[position] == 0 || !falls_back_on(c, position, &forward))
        return;
    row_t row = c.rows.rows[position];
    if (c.elsewhere[position] == ROW_NONE && current(&c.adopted[forward]) >= row)
        return;
    if (keep_min(&c.adopted[c.rows.number[position]], row))
        set_bits(c.changed, 1);
}

/* The event at the bottom of an adopted thread: adoptions lead back to earlier ones, and finally to an event. */
SHARED row_t adopter_of(const struct event_columns &c, uint32_t thread) {
    for (;;) {
        row_t row = c.adopted[thread], position = position_from(c, thread, row);
        if (c.elsewhere[position] != ROW_NONE)
            return c.elsewhere[position];
        thread = c.forward[row];
    }
}

SHARED row_t parent_at_bottom(const struct event_columns &c, row_t position) {
    row_t row = c.rows.rows[position];
    uint32_t forward;
    uint32_t thread = c.rows.number[position];
    if (c.adopted[thread] < row)
        return adopter_of(c, thread);
    if (!falls_back_on(c, position, &forward))
        return ROW_NONE;
    if (c.elsewhere[position] != ROW_NONE)
        return c.elsewhere[position];
    return c.adopted[forward] < row ? adopter_of(c, forward) : ROW_NONE;
}

SHARED void set_parent(const struct event_columns &c, row_t position) {
    if (!takes_part(c, position))
        return;
    row_t row = c.rows.rows[position];
    c.parent[row] = c.below[position] == ROW_NONE ? parent_at_bottom(c, position) : c.rows.rows[c.below[position]];
    c.closes[row] = c.closing[position] ? closing_of(c.closing[position]) : c.start[row];
}

static uint32_t fetch_changed(struct gpu *gpu, const struct event_columns *c) {
    uint32_t changed = 0;
    gpu_down(gpu, &changed, c->changed, 1);
    gpu_fill(gpu, c->changed, 0, sizeof changed);
    return changed;
}

/* Both return whether MAX_ROUNDS were enough. The tree over closings stays. */
static bool find_closings(struct gpu *gpu, struct event_columns *c) {
    uint32_t more = 1;
    for (int round = 0; round < MAX_ROUNDS && more; round++) {
        size_t mark = gpu_mark(gpu);
        c->closings = max_tree_build(gpu, c->closing, c->n);
        gpu_each<find_below>(gpu, c->n, *c);
        more = fetch_changed(gpu, c);
        if (more) {
            uint64_t *closing = c->closing;
            c->closing = c->next_closing;
            c->next_closing = closing;
            gpu_release(gpu, mark);
        }
    }
    return !more;
}

static bool find_adoptions(struct gpu *gpu, struct event_columns *c) {
    uint32_t more = c->forward != NULL;
    gpu_each<find_elsewhere>(gpu, c->n, *c);
    gpu_each<set_no_adoption>(gpu, c->n_threads, *c);
    for (int round = 0; round < MAX_ROUNDS && more; round++) {
        gpu_each<adopt>(gpu, c->n, *c);
        more = fetch_changed(gpu, c);
    }
    return !more;
}

static void bring_up(struct gpu *gpu, struct event_columns *c, const struct event_parents_step *step) {
    const struct tree_events *events = step->events;
    row_t n = events->n;
    gpu_enter(gpu, GPU_UP);
    c->n = n;
    c->n_threads = events->n_threads;
    c->start = gpu_up(gpu, events->start, n);
    c->end = gpu_up(gpu, events->end, n);
    c->thread = gpu_up(gpu, events->thread, n);
    c->forward = events->forward ? gpu_up(gpu, events->forward, n) : NULL;
    c->placed = events->placed ? gpu_up(gpu, events->placed, n) : NULL;
    c->parent = gpu_up(gpu, step->parent, n);
    c->closes = gpu_up(gpu, step->closing, n);
    gpu_ready(gpu);
}

void gpu_event_parents(struct gpu *gpu, struct event_parents_step *step) {
    struct event_columns c = {};
    bring_up(gpu, &c, step);
    row_t n = c.n;
    struct event_flags flags = {0, 0};
    c.group = gpu_take<uint32_t>(gpu, n);
    c.rows = groups_take(gpu, n, c.n_threads + 1, false);
    c.closing = gpu_take<uint64_t>(gpu, n);
    c.next_closing = gpu_take<uint64_t>(gpu, n);
    c.below = gpu_take<row_t>(gpu, n);
    c.elsewhere = gpu_take<row_t>(gpu, n);
    c.adopted = gpu_take<uint32_t>(gpu, c.n_threads);
    c.flags = gpu_take_zeros<struct event_flags>(gpu, 1);
    c.changed = gpu_take_zeros<uint32_t>(gpu, 1);
    gpu_enter(gpu, GPU_SORT);
    gpu_each_share<set_groups>(gpu, n, c);
    gpu_down(gpu, &flags, c.flags, 1);
    groups_fill(gpu, &c.rows, c.group, n, c.n_threads + 1);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<set_own_end>(gpu, n, c);
    if ((flags.falls_back && flags.forwards) || !find_closings(gpu, &c) || !find_adoptions(gpu, &c))
        gpu_leave(gpu, "the call tree by the CPU: events overlap too far, or have whole microseconds and look at "
                       "other threads");
    gpu_each<set_parent>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->parent, c.parent, n);
    gpu_down(gpu, step->closing, c.closes, n);
}
