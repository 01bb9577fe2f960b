"""The cost of a push for the fleet's server, compared with COPY of the same rows.

Uses a real PostgreSQL (tests/lib/fleet_server.py) without fsync. The CPU time of its processes is
measured, connections included. The hosts' own cost, mostly that of an audit, is not.
"""

import sys
import time

import fleet_server
from figures import Row, at_most

EACH = 10          # entry points per distribution
IN_A_SAMPLE = 10   # pushes: the system's clock counts hundredths of a second
GONE_AFTER = 0.1   # seconds until an ended process is counted


class Pushes:
    def __init__(self, bench, server):
        self.bench, self.server, self.count = bench, server, 0
        self.prefix = f"{bench.scratch}/fleet"
        fleet_server.make_site(f"{self.prefix}/lib/python3.13/site-packages", bench.size(150, 20), EACH)
        bench.update(self.prefix)
        self.first()
        self.copying = server.copy_script("host1")

    def push(self):
        self.bench.output([self.bench.entrydb, "push", self.server.url(f"host{self.count}"), self.prefix])

    def sample(self, work):
        """Milliseconds of the server's CPU time per repetition."""
        time.sleep(GONE_AFTER)
        before = self.server.processor_seconds()
        for _ in range(IN_A_SAMPLE):
            work()
        time.sleep(GONE_AFTER)
        return (self.server.processor_seconds() - before) / IN_A_SAMPLE * 1e3

    def first(self):
        """Pushes of new hosts."""
        self.server.add_hosts([f"host{self.count + 1 + i}" for i in range(IN_A_SAMPLE)])

        def push():
            self.count += 1
            self.push()

        return self.sample(push)

    def copy(self):
        return self.sample(lambda: self.bench.output(self.copying))


def fleet(bench):
    if not all(map(fleet_server.tool, ("initdb", "pg_ctl", "psql"))):
        print("fleet: left out: PostgreSQL is not installed", file=sys.stderr)
        return
    server = fleet_server.Server()
    try:
        pushes = Pushes(bench, server)
        rows = bench.size(150, 20) * EACH
        pairs = [(pushes.first(), pushes.copy()) for _ in range(max(3, bench.rounds))]
        yield Row(f"a push of {rows} entry points, the server's processor", "COPY of the same rows", pairs, at_most(1.5), "ms")
        pairs = [(pushes.sample(pushes.push), pushes.copy()) for _ in range(max(3, bench.rounds))]
        yield Row("the same again, when nothing has changed", "COPY of the same rows", pairs, None, "ms")
    finally:
        server.end()


FIGURES = {"fleet": fleet}
