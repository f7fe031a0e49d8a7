"""Writes small databases as Nsight Systems, rocprofv3 and rocmProfileData write them, for the tests and as seeds of the fuzz target.

    python3 tests/nsys_make.py FOLDER     writes the seeds FOLDER/NAME.sqlite
"""

import os
import sqlite3
import struct
import sys

TABLES = {
    "RUNTIME": ("CUPTI_ACTIVITY_KIND_RUNTIME", "start end eventClass globalTid correlationId nameId"),
    "KERNEL": ("CUPTI_ACTIVITY_KIND_KERNEL",
               "start end deviceId contextId streamId correlationId globalPid demangledName shortName registersPerThread "
               "gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId graphId"),
    "MEMCPY": ("CUPTI_ACTIVITY_KIND_MEMCPY",
               "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind"),
    "MEMSET": ("CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId contextId streamId correlationId globalPid bytes memKind"),
    "GRAPH": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end deviceId contextId streamId correlationId globalPid graphId"),
    "SYNC": ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
             "start end deviceId contextId streamId correlationId globalPid syncType eventId eventSyncId"),
    "EVENT": ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "deviceId streamId correlationId globalPid eventId eventSyncId"),
    "OVERHEAD": ("CUPTI_ACTIVITY_KIND_OVERHEAD", "start end globalTid nameId overheadType"),
    "OS": ("OSRT_API", "start end globalTid nameId"),
    "NVTX": ("NVTX_EVENTS", "start end eventType text globalTid endGlobalTid textId domainId binaryData"),
    "FIELD": ("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId schemaId idx type name offset"),
    "CLOCK": ("TARGET_INFO_SESSION_START_TIME", "utcEpochNs systemClockNs"),
}
PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75


def process(pid):
    return 1 << 48 | pid << 24


class Report:
    """A database of Nsight Systems. Times are nanoseconds."""

    def __init__(self, path, drop=(), suffix=""):
        if os.path.exists(path):
            os.remove(path)
        self.db, self.names, self.drop, self.suffix, self.correlation = sqlite3.connect(path), {}, set(drop), suffix, 0
        self.db.execute("pragma page_size = 512")
        self.db.execute("create table StringIds (id integer primary key, value text)")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.db.commit()
        self.db.close()

    def string(self, text):
        if text not in self.names:
            self.names[text] = 10 + 3 * len(self.names)  # ids with gaps
            self.db.execute("insert into StringIds values (?, ?)", (self.names[text], text))
        return self.names[text]

    def row(self, table, **values):
        name, columns = TABLES[table]
        columns = [c for c in columns.split() if c not in self.drop]
        name += self.suffix if table == "KERNEL" else ""
        self.db.execute('create table if not exists "%s" (%s)' % (name, ", ".join('"%s"' % c for c in columns)))
        self.db.execute('insert into "%s" values (%s)' % (name, ",".join("?" * len(columns))),
                        [values.get(c) for c in columns])

    def call(self, start, end, name="cudaLaunchKernel_v7000", pid=7, tid=None, correlation=None, driver=0):
        self.correlation += 1
        correlation = correlation or self.correlation
        self.row("RUNTIME", start=start, end=end, eventClass=driver, globalTid=process(pid) | (tid or pid),
                 correlationId=correlation, nameId=self.string(name))
        return correlation

    def gpu(self, table, start, end, correlation, pid=7, device=0, stream=5, **more):
        self.row(table, start=start, end=end, deviceId=device, contextId=1, streamId=stream, correlationId=correlation,
                 globalPid=process(pid), **more)

    def kernel(self, start, end, correlation, name="gemm", **more):
        self.gpu("KERNEL", start, end, correlation, demangledName=self.string(name), shortName=self.string("short"),
                 **{"gridX": 4, "gridY": 2, "gridZ": 1, "blockX": 64, "blockY": 1, "blockZ": 1, "registersPerThread": 16,
                    "staticSharedMemory": 100, "dynamicSharedMemory": 28, **more})

    def range(self, start, end, text, pid=7, tid=None, kind=PUSH_POP, domain=0, registered=False, end_tid=None, blob=None):
        self.row("NVTX", start=start, end=end, eventType=kind, globalTid=process(pid) | (tid or pid), domainId=domain,
                 text=None if registered else text, textId=self.string(text) if registered else None,
                 endGlobalTid=end_tid and process(pid) | end_tid, binaryData=blob)

    def nccl_schemas(self):
        for schema, fields in ((3, [(18, "NCCL communicator ID", None), (5, "No. of ranks", 8), (5, "Rank", None)]),
                               (4, [(18, "NCCL communicator ID", None), (22, "Message size [bytes]", 8)])):
            for i, (kind, name, offset) in enumerate(fields):
                self.row("FIELD", domainId=2, schemaId=schema, idx=i, type=kind, name=name, offset=offset)

    def nccl(self, start, end, text, schema=4, values=(), **more):
        body = struct.pack("<Qii" if schema == 3 else "<QQ", *values) if values else b""
        blob = struct.pack("<4Q", 2, schema, len(body), 32) + body if values else None
        self.range(start, end, text, domain=2, registered=True, blob=blob, **more)


def full(path):
    """All tables, two ranks, a step, operators, NCCL."""
    with Report(path) as r:
        r.nccl_schemas()
        r.row("CLOCK", utcEpochNs=1700000000000000000, systemClockNs=900)
        for pid, device, rank in ((7, 0, 1), (9, 1, 0)):
            r.range(0, None, "NCCL", pid=pid, kind=DOMAIN, domain=2)
            r.nccl(1, 5, "ncclCommInitRank", 3, (0xAB, 2, rank), pid=pid)
            r.range(10, 9000, "iteration_4", pid=pid)
            r.range(20, 4000, "aten::mm, seq = 3, op_id = 11, sizes = [[4, 8], [8, 2]], input_op_ids = [(10,0)]", pid=pid)
            r.kernel(3000, 5001, r.call(100, 600, pid=pid), pid=pid, device=device)
            r.range(5000, 8000, "autograd::engine::evaluate_function: MmBackward0, seq = 3, op_id = 12", pid=pid, tid=77)
            r.range(5100, 7900, "MmBackward0, seq = 3, op_id = 13", pid=pid, tid=77)
            r.kernel(7000, 8500, r.call(5200, 5300, pid=pid, tid=77), pid=pid, device=device)
            r.nccl(8000, 8900, "ncclAllGather", 4, (0xAB, 4096), pid=pid)
            r.kernel(8600, 9990, r.call(8100, 8200, pid=pid), "ncclDevKernel_AllGather", pid=pid, device=device, stream=6)
            r.gpu("MEMCPY", 9000, 9700, r.call(8300, 8350, "cudaMemcpyAsync_v3020", pid=pid), pid=pid, device=device,
                  bytes=64, copyKind=1, srcKind=1, dstKind=2)
            r.gpu("MEMSET", 9800, 9900, r.call(8400, 8450, "cudaMemsetAsync_v3020", pid=pid), pid=pid, device=device,
                  bytes=32, memKind=2)
            record = r.call(8500, 8510, "cudaEventRecord_v3020", pid=pid)
            r.row("EVENT", deviceId=device, streamId=5, correlationId=record, globalPid=process(pid), eventId=1,
                  eventSyncId=2)
            r.gpu("SYNC", 8520, 8530, r.call(8515, 8535, "cudaStreamWaitEvent_v3020", pid=pid), pid=pid, device=device,
                  stream=6, syncType=2, eventId=1, eventSyncId=2)
        r.gpu("GRAPH", 9991, 9999, r.call(8600, 8650, "cudaGraphLaunch_v10000"), graphId=8)
        r.row("OS", start=1, end=2, globalTid=process(7) | 70, nameId=r.string("read"))
        r.row("OVERHEAD", start=3, end=4, globalTid=process(7) | 7, overheadType=2)


def rocpd(path, stamps=False):
    """The schema of rocprofv3: start and end in each row, or references to rocpd_timestamp."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("pragma page_size = 512")
    db.executescript("""
create table rocpd_string_x (id integer primary key, string);
create table rocpd_info_process_x (id integer primary key, pid);
create table rocpd_info_thread_x (id integer primary key, tid);
create table rocpd_info_agent_x (id integer primary key, type_index, logical_index);
create table rocpd_info_kernel_symbol_x (id integer primary key, kernel_name, display_name);
create table rocpd_event_x (id integer primary key, category_id, stack_id);
insert into rocpd_string_x values (1, 'HIP_RUNTIME_API_EXT'), (2, 'hipLaunchKernel'), (3, 'MARKER_CORE_API'),
    (4, 'step 2'), (5, 'MEMORY_COPY_HOST_TO_DEVICE');
insert into rocpd_info_process_x values (1, 55);
insert into rocpd_info_thread_x values (1, 56);
insert into rocpd_info_agent_x values (1, null, 0), (2, 1, 3);
insert into rocpd_info_kernel_symbol_x values (1, '_Zgemm.kd', 'gemm()'), (2, '_Zadd.kd', '');
insert into rocpd_event_x values (1, 3, 20), (2, 1, 21), (3, null, 21), (4, 1, 22), (5, null, 22);
""")
    place = "track_id, start_id, end_id" if stamps else 'pid, tid, agent_id, stream_id, start, "end"'
    sizes = "workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z"
    db.execute("create table rocpd_region_x (id integer primary key, name_id, event_id, %s)" % place)
    db.execute("create table rocpd_kernel_dispatch_x (id integer primary key, kernel_id, event_id, %s, %s)" % (sizes, place))
    db.execute("create table rocpd_memory_copy_x (id integer primary key, name_id, event_id, dst_agent_id, size, %s)" % place)
    tracks = [(1, 1, 1, None, None), (2, 1, 1, 2, 4)]
    if stamps:
        db.execute("create table rocpd_track_x (id integer primary key, pid, tid, agent_id, stream_id)")
        db.execute("create table rocpd_timestamp_x (id integer primary key, value)")
        db.executemany("insert into rocpd_track_x values (?, ?, ?, ?, ?)", tracks)

    def add(table, values, track, start, end):
        if stamps:
            ids = [db.execute("insert into rocpd_timestamp_x (value) values (?)", (t,)).lastrowid for t in (start, end)]
            values = (*values, track, *ids)
        else:
            values = (*values, *tracks[track - 1][1:], start, end)
        db.execute("insert into %s values (null, %s)" % (table, ",".join("?" * len(values))), values)

    add("rocpd_region_x", (4, 1), 1, 100, 9000)
    add("rocpd_region_x", (2, 2), 1, 200, 300)
    add("rocpd_region_x", (2, 4), 1, 400, 500)
    add("rocpd_kernel_dispatch_x", (1, 3, 64, 1, 1, 256, 2, 1), 2, 1000, 2500)
    add("rocpd_memory_copy_x", (5, 5, 2, 4096), 2, 3000, 3100)
    for (name,) in db.execute("select name from sqlite_master where name like '%\\_x' escape '\\'").fetchall():
        db.execute("create view %s as select * from %s" % (name[:-2], name))
    db.commit()
    db.close()


def rpd(path, schema=2, rows=True):
    """The schemas of rocmProfileData. 1 and 2: arguments in rocpd_string; 3: in rocpd_ustring, and domains of calls."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("pragma page_size = 512")
    db.executescript("""
create table rocpd_string (id integer primary key, string);
create table rocpd_op (id integer primary key, gpuId, queueId, start, "end", description_id, opType_id);
create table rocpd_api (id integer primary key, pid, tid, start, "end", apiName_id, args_id);
create table rocpd_api_ops (id integer primary key, api_id, op_id);
""")
    if schema > 1:
        db.execute("create table rocpd_copyapi (api_ptr_id integer primary key, size)")
    if schema > 2:
        db.execute("create table rocpd_ustring (id integer primary key, string)")
        db.execute("alter table rocpd_api add column domain_id")
    ids = {}

    def string(text, table="rocpd_string"):
        if (table, text) not in ids:
            ids[table, text] = db.execute("insert into %s (string) values (?)" % table, (text,)).lastrowid
        return ids[table, text]

    def api(start, end, name, arguments="", domain="hip", pid=70, ops=()):
        texts = "rocpd_ustring" if schema > 2 else "rocpd_string"
        values = [pid, pid + 1, start, end, string(name), string(arguments, texts)]
        values += [string(domain)] if schema > 2 else []
        row = db.execute("insert into rocpd_api values (null, %s)" % ",".join("?" * len(values)), values).lastrowid
        for op in ops:
            db.execute("insert into rocpd_api_ops (api_id, op_id) values (?, ?)", (row, op))
        return row

    def op(start, end, kind, description="", gpu=2, queue=5):
        return db.execute("insert into rocpd_op values (null, ?, ?, ?, ?, ?, ?)",
                          (gpu, queue, start, end, string(description), string(kind))).lastrowid

    if rows:
        label = "aten::mm, seq = 3, op_id = 11, sizes = [[4, 8], [8, 2]], input_op_ids = [(10,0)]"
        api(100, 9000, "UserMarker", "iteration_4", domain="roctx")
        api(150, 2000, "UserMarker", label, domain="roctx")
        api(160, 160, "UserMarker", "a mark", domain="roctx")
        api(200, 300, "hipLaunchKernel", "stream=0x0", ops=[op(1000, 2500, "KernelExecution", "gemm()")])
        copy = api(400, 500, "hipMemcpyAsync", ops=[op(3000, 3100, "CopyHostToDevice")])
        api(600, 700, "hipGraphLaunch", ops=[op(4000, 4500, "KernelExecution", "add()"),
                                             op(4600, 4700, "FillBuffer", queue=6)])
        op(4800, 4900, "Task", "unlinked")
        op(4900, 4950, "MarkerCommand")
        op(5000, 4000, "KernelExecution", "no time")
        api(800, 900, "hipLaunchKernel", pid=90, ops=[op(1000, 2000, "KernelExecution", "gemm()", gpu=0)])
        if schema > 1:
            db.execute("insert into rocpd_copyapi values (?, 4096)", (copy,))
        if schema > 2:
            api(850, 950, "aten::relu", domain="torch", pid=90)
    db.commit()
    db.close()


def refused(folder):
    """Small databases that compute rows and texts from nothing, or repeat them; (path, message) of each."""
    rows = "with recursive r(n) as (select 1 union all select n + 1 from r%s) select n as start, n as end, 59 as eventType, " \
           "%s as text, 0 as globalTid from r"
    for name, sql in (
            ("view", "create view NVTX_EVENTS as " + rows % ("", "'x' || n")),
            ("generated", "create table NVTX_EVENTS (start, end, eventType, globalTid, "
                          "text generated always as (hex(zeroblob(500000)) || start) virtual)"),
            ("default", "create table NVTX_EVENTS (start, end, eventType, globalTid)"),
            ("pages", "create table NVTX_EVENTS (start, end, eventType, globalTid, text)")):
        path = os.path.join(folder, name + ".sqlite")
        with Report(path) as r:
            r.kernel(50, 70, r.call(10, 20))
            r.db.execute(sql)
            for i in range(0 if name == "view" else 9 if name == "pages" else 400):
                r.db.execute("insert into NVTX_EVENTS (start, end, eventType, globalTid) values (?, ?, 59, 0)", (i, i))
            if name == "default":
                r.db.execute("alter table NVTX_EVENTS add column text default '%s'" % ("x" * 5000))
            root = r.db.execute("select rootpage from sqlite_master where name = 'NVTX_EVENTS'").fetchone()[0]
        if name == "pages":
            share_pages(path, root)
        yield path, {"view": "NVTX_EVENTS is a view, not a table",
                     "generated": "column text of table NVTX_EVENTS is a generated column"}.get(name, "repeats rows or texts")
    path = os.path.join(folder, "rocpd_view.sqlite")
    rocpd(path)
    with sqlite3.connect(path) as db:
        db.execute("drop view rocpd_region")
        db.execute("alter table rocpd_region_x rename to other")
        db.execute("create view rocpd_region as " + rows % ("", "n"))
    db.close()
    yield path, "rocpd_region is a view, not a table"


def share_pages(path, root, size=512, depth=4):
    """Replaces the only page of a table by a tree whose pages have the same child everywhere."""
    with open(path, "r+b") as file:
        pages = file.read()
        leaf, child = pages[(root - 1) * size:root * size], len(pages) // size + 1
        pages += leaf
        for level in range(1, depth):
            n = (size - 12) // 7
            page = struct.pack(">BHHHBI", 5, 0, n, size - 5 * n, 0, child)
            page += b"".join(struct.pack(">H", size - 5 * (i + 1)) for i in range(n))
            page = page.ljust(size - 5 * n, b"\0") + struct.pack(">IB", child, 9) * n
            child += 1
            if level == depth - 1:
                pages = pages[:(root - 1) * size] + page + pages[root * size:]
            else:
                pages += page
        file.seek(0)
        file.write(pages[:28] + struct.pack(">I", len(pages) // size) + pages[32:])


def main(folder):
    for _ in refused(folder):
        pass
    full(os.path.join(folder, "full.sqlite"))
    rocpd(os.path.join(folder, "rocpd.sqlite"))
    rocpd(os.path.join(folder, "rocpd_stamps.sqlite"), stamps=True)
    rpd(os.path.join(folder, "rpd.sqlite"))
    rpd(os.path.join(folder, "rpd_3.sqlite"), schema=3)
    with Report(os.path.join(folder, "old.sqlite"), drop=("globalPid", "graphNodeId", "graphId", "registersPerThread")) as r:
        r.range(0, 100, "batch 1")
        r.kernel(50, 70, r.call(10, 20))
    with Report(os.path.join(folder, "names.sqlite"), suffix="_V3") as r:
        for text in ("", "a, seq = 1", "x, op_id = 2, sizes = [[], [1, [2]]]", "y, seq = 1, sizes = [", "\u00e9\n, seq = 5\n",
                     "nccl:all_reduce, seq = 0, sizes = []", "ProfilerStep#12", "step_"):
            r.range(5, None, text, kind=START_END)
        r.kernel(50, 40, r.call(10, 20, "v_v9", driver=1))


if __name__ == "__main__":
    main(sys.argv[1])
