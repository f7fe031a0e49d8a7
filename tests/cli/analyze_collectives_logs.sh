# analyze collectives reads NCCL Inspector logs: a job of 4 processes on 2 hosts, with a straggler, a lost number, another
# size, untimed records and a malformed line.
. "$TOOLS/common.sh"
need python3
mkdir logs
python3 - <<'END'
import json, random
hosts, pids, text = ["node1", "node1", "node2", "node2"], [4120, 4121, 977, 978], [""] * 4

def add(process, group, name, rank, size, nodes, kind, fields):
    header = {"id": group, "comm_name": name, "rank": rank, "n_ranks": size, "nnodes": nodes}
    metadata = {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": 1748030377748202 + process, "hostname": hosts[process], "pid": pids[process]}
    record = {"header": header, "metadata": metadata, kind: fields}
    text[process] += json.dumps(record, separators=(",", ":")).replace("/", "\\/") + "\n"

def collective(process, group, name, rank, size, nodes, kind, number, length, us, source="kernel_gpu"):
    add(process, group, name, rank, size, nodes, "coll_perf",
        {"coll": kind, "coll_sn": number, "coll_msg_size_bytes": length, "coll_exec_time_us": us,
         "coll_timing_source": source, "coll_algobw_gbs": 0.5, "coll_busbw_gbs": 0.5})

def message(process, rank, kind, number, peer, us):
    add(process, "0x3c91f0", "PP/0", rank, 2, 2, "p2p_perf",
        {"p2p": kind, "p2p_sn": number, "p2p_peer": peer, "p2p_msg_size_bytes": 2097152, "p2p_exec_time_us": us,
         "p2p_timing_source": "kernel_gpu", "p2p_algobw_gbs": 0.5, "p2p_busbw_gbs": 0.5})

draw = random.Random(1)
for number in range(20):
    late = [draw.randrange(40) for _ in range(3)]
    late.insert(2, 900)
    for rank in range(4):
        if number == 7 and rank == 1:
            continue
        length = 4194304 if (number, rank) != (12, 3) else 4194308
        source = "kernel_gpu" if (number, rank) != (15, 0) else "kernel_cpu"
        collective(rank, "0x7f8c49", "unknown", rank, 4, 2, "AllReduce", number, length, 310 + 900 - late[rank], source)
    for rank in range(4):
        tp = ["0xa1", "0xa2"][rank // 2]
        collective(rank, tp, "TP", rank % 2, 2, 1, "AllGather", number, 262144, 45 + draw.randrange(9))
for number in range(6):
    message(0, 0, "Send", 2 * number, 1, 60 + number)
    message(2, 1, "Recv", 100 + number, 0, 55)
text[3] = text[3].replace('"coll_sn":19', '"coll_sn":', 1)
for process in range(4):
    open("logs/%s-pid%d.log" % (hosts[process], pids[process]), "w").write(text[process])
END
quietly sutra analyze collectives logs
quietly sutra analyze collectives logs -o tables --arrivals -q
ls tables
head -n 3 tables/collectives.csv tables/collective_types.csv tables/collective_groups.csv tables/collective_arrivals.csv
cat tables/collective_ranks.csv tables/collective_sizes.csv tables/collective_errors.csv
gzip -9 logs/node1-*.log
quietly sutra analyze collectives logs/node2-pid978.log logs/*.gz logs/node2-pid977.log -o more -q --arrivals --threads 1
for table in ranks types groups sizes errors; do cmp tables/collective_$table.csv more/collective_$table.csv; done
quietly sutra analyze collectives logs -q --stats stats.json
grep n_ stats.json
echo "--- ranks, links and hosts"
quietly sutra analyze collectives logs --rank 0-1 --link-peak-gbps 50 --ranks-per-host 4 -o part -q --no-report
cut -d, -f 1,4,5,8,9,12 part/collectives.csv | sed -n '1,3p'
echo "--- other commands and errors"
try sutra info logs/node2-pid977.log
try sutra info --json logs/node2-pid977.log
try sutra info logs
try sutra analyze operators logs/node2-pid977.log
try sutra analyze collectives logs --compat tracelens -o tracelens
try sutra analyze collectives logs --step 3
try sutra analyze collectives logs --shard 1/2 -o parts
sutra gen -n 500 --host host.json --device device.json -q
try sutra analyze collectives logs/*.log device.json
sed 's/v4\.0/v3.2/' logs/node2-pid977.log >old.log
try sutra analyze collectives old.log
: >empty.log
quietly sutra analyze collectives empty.log logs/node2-pid977.log -q
try sutra analyze collectives empty.log logs/node2-pid977.log -q --strict
