# Dumps that PyTorch recorded with Gloo, for each fault of tests/data/hang: the screen; and two dumps of a running job.
. "$TOOLS/common.sh"
[ -e "$DATA/hang/data_loading" ] || skip "needs $DATA/hang"
cp -r "$DATA/hang" hang
for name in data_loading caught_exception loader_ends_early loader_ends_early_with_log evaluation_on_rank_0 groups_in_different_order \
    autocast_on_one_rank rank_exits rank_is_stopped pipeline pipeline_then_reduce running/first running/second; do
    quietly sutra analyze hang hang/$name
done
echo "--- the same results for any number of threads, and for JSON and pickles of one file each"
for name in data_loading loader_ends_early running/first; do
    sutra analyze hang hang/$name --format json -q --threads 1 >one.json
    sutra analyze hang hang/$name/* --format json -q --threads 3 >three.json
    cmp one.json three.json
done
