"""Dresses that a rival's experts would have: where one is missing, the others' verdicts mean less."""

import re
import unittest

from runner.paths import LAB

RUNTIMES = LAB / "runtimes"
# In which a current-thread Tokio and a Coflux on one worker pass values on one thread.
ON_ONE_THREAD = ("channel_spsc", "channel_mpmc", "channel_rendezvous", "mpsc_batches", "mutex_handoff", "suspend_chain", "yield",
                 "timer_storm", "partition_receiver", "record_path")
BY_KANAL = ("channel_spsc", "channel_mpmc", "suspend_chain")


def source(name: str) -> str:
    return (RUNTIMES / name).read_text(encoding="utf-8")


class Experts(unittest.TestCase):
    def test_asio_has_one_thread_and_a_channel_without_a_lock_where_tokio_s_current_thread_plays(self) -> None:
        found = re.findall(r'add_expert\("(\w+)", lab::\w+, loop\)', source("asio/main.cpp"))
        self.assertEqual(set(found), set(ON_ONE_THREAD))
        for name in ("channels.cpp", "chain.cpp", "records.cpp"):
            self.assertRegex(source(f"asio/{name}"), r"experimental::channel<loop_executor,")

    def test_tokio_has_kanal_in_each_row_of_bounded_channels_and_recv_many_where_batches_come(self) -> None:
        text = source("tokio/src/main.rs")
        experts = dict(re.findall(r'\(\s*"(\w+)",\s*((?:concat!\()?"[^)]*?)\)?,?\s*\)', text[text.index("const EXPERTS"):text.index("const KANAL")]))
        for name in BY_KANAL:
            self.assertIn("kanal", experts[name], name)
        for name in ("mpsc_batches", "partition_receiver", "record_path"):
            self.assertIn("recv_many", experts[name], name)
        self.assertIn('const KANAL: [&str; 2] = ["partition_receiver", "record_path"];', text)

    def test_the_floor_of_io_socket_may_spin(self) -> None:
        self.assertIn('add_dress("io_socket", "spin"', source("bare/main.cpp"))


if __name__ == "__main__":
    unittest.main()
