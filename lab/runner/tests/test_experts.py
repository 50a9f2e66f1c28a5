"""Dresses that a rival's experts would have: where one is missing, the others' verdicts mean less."""

import re
import unittest

from runner.paths import LAB
from runner.runtimes import RUNTIMES as RUNTIMES_KNOWN

RUNTIMES = LAB / "runtimes"
# In which a current-thread Tokio and a Coflux on one worker pass values on one thread.
ON_ONE_THREAD = ("channel_spsc", "channel_mpmc", "channel_rendezvous", "mpsc_batches", "mutex_handoff", "suspend_chain", "yield",
                 "timer_storm", "partition_receiver", "record_path")
# In which they fork on one thread, and the time is the queue's; a product of matrices or a burning wait is no such row.
FORKS_ON_ONE_THREAD = ("fork_pool", "pipeline", "fib", "skynet", "nqueens", "unbalanced", "spawn_join", "memory_after")
BY_KANAL = ("channel_spsc", "channel_mpmc", "suspend_chain")


def source(name: str) -> str:
    return (RUNTIMES / name).read_text(encoding="utf-8")


class Experts(unittest.TestCase):
    def test_asio_has_one_thread_and_a_channel_without_a_lock_where_tokio_s_current_thread_plays(self) -> None:
        found = re.findall(r'add_expert\("(\w+)", lab::\w+, loop\)', source("asio/main.cpp"))
        self.assertEqual(set(found), set(ON_ONE_THREAD))
        for name in ("channels.cpp", "chain.cpp", "records.cpp"):
            self.assertRegex(source(f"asio/{name}"), r"experimental::channel<loop_executor,")

    def test_asio_forks_on_one_thread_where_tokio_s_current_thread_does(self) -> None:
        text = source("asio/main.cpp")
        found = re.findall(r'workload\{"(\w+)", lab::\w+_on_one_thread\}', text)
        found += re.findall(r'add_expert\("(\w+)", lab::\w+, loop_of_forks\)', text)
        self.assertEqual(set(found), set(FORKS_ON_ONE_THREAD))

    def test_rayon_has_each_row_of_forks_that_are_joined(self) -> None:
        self.assertEqual(set(RUNTIMES_KNOWN["rayon"].only),
                         {"fib", "fork_pool", "matmul", "nqueens", "skynet", "spawn_join", "unbalanced"})

    def test_go_takes_from_a_pool_what_a_node_or_a_batch_throws_away(self) -> None:
        text = source("go/main.go")
        for expert in ("leanSkynet", "leanNqueens", "leanUnbalanced", "mpscPooledBatches", "recordPathExpert"):
            self.assertRegex(text, rf"expert:.*\b{expert}\b")
        self.assertEqual(source("go/experts.go").count("sync.Pool{"), 3)

    def test_onetbb_has_a_flow_graph_for_what_goes_through_stages_and_affinity_for_rounds(self) -> None:
        text = source("tbb/main.cpp")
        self.assertEqual(set(re.findall(r'add_expert\("(\w+)", lab::\w+, graph\)', text)), {"pipeline", "suspend_chain"})
        self.assertIn("affinity_partitioner", source("tbb/matmul.cpp"))
        for name in ("fork_pool", "spawn_join", "memory_after", "matmul", "unbalanced"):
            self.assertIn(f'add_expert("{name}"', text)

    def test_tokio_has_kanal_in_each_row_of_bounded_channels_and_recv_many_where_batches_come(self) -> None:
        text = source("tokio/src/main.rs")
        experts = dict(re.findall(r'\(\s*"(\w+)",\s*((?:concat!\()?"[^)]*?)\)?,?\s*\)', text[text.index("const EXPERTS"):text.index("const KANAL")]))
        for name in BY_KANAL:
            self.assertIn("kanal", experts[name], name)
        for name in ("mpsc_batches", "partition_receiver", "record_path"):
            self.assertIn("recv_many", experts[name], name)
        self.assertIn('const KANAL: [&str; 2] = ["partition_receiver", "record_path"];', text)

    def test_who_serves_connections_tells_what_an_idle_one_holds(self) -> None:
        for name in ("common/load_client.cpp", "go/sockets.go", "tokio/src/servers.rs"):
            self.assertIn('"connection_bytes"', source(name), name)

    def test_the_floor_of_io_socket_may_spin(self) -> None:
        self.assertIn('add_dress("io_socket", "spin"', source("bare/main.cpp"))


if __name__ == "__main__":
    unittest.main()
