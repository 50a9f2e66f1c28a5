import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import catalog
from runner.tests import nexmark_by_definition

NEXMARK = catalog.all_workloads()["nexmark"]
READ = catalog.all_workloads()["nexmark_source"]


class Nexmark(unittest.TestCase):
    def test_the_answers_agree_with_their_definition(self) -> None:
        cases = NEXMARK.cases("smoke")
        (events,) = {params["events"] for params in cases}
        answers = nexmark_by_definition.answers(events)
        self.assertEqual([params["query"] for params in cases], list(answers))
        for params in cases:
            self.assertEqual(NEXMARK.expected(params, 1), str(answers[params["query"]]), params["query"])
            self.assertEqual(NEXMARK.items(params, 1), events)

    def test_each_query_has_answers_of_each_size(self) -> None:
        for query, answers in NEXMARK.ANSWERS.items():
            self.assertEqual(set(answers), set(NEXMARK.EVENTS.values()), query)
            self.assertEqual(len(set(answers.values())), len(answers), query)

    def test_java_s_letters_may_lie_before_a(self) -> None:
        # As the tests of the C++ generator have it of Java.
        self.assertEqual(nexmark_by_definition.event(4),
                         {"kind": "bid", "auction": 1_000, "bidder": 1_001, "price": 32_530_001, "time": 1_436_918_400_000,
                          "extra": "fdiysaV^]NLVsbolvyqwgticfdrwdyiyofziYMU\\Z`UaTQO][NX\\RM]WPYTOuwogvszlxjrcNOORM"})


class NexmarkSource(unittest.TestCase):
    def test_a_query_of_a_file_and_of_a_topic_has_the_answer_of_nexmark(self) -> None:
        for size in catalog.SIZES:
            of_sources: dict[str, list[catalog.Params]] = {}
            for params in READ.cases(size):
                self.assertEqual(READ.expected(params, 1), NEXMARK.expected(params, 1))
                self.assertIsNotNone(READ.check(str(int(NEXMARK.expected(params, 1)) + 1), params, 1))
                self.assertEqual(READ.items(params, 1), params["events"])
                of_sources.setdefault(params.pop("source"), []).append(params)
            self.assertEqual(of_sources, {source: NEXMARK.cases(size) for source in ("file", "kafka")})

    def test_what_cannot_be_provided_is_said(self) -> None:
        no_folder = Path("/no/such/folder")
        for source, said in (("file", "lab_nexmark_fill is not built: scripts/lab builds it"),
                             ("kafka", "lab_kafka_fill is not built: install librdkafka-dev")):
            params, = (each for each in READ.cases("smoke") if each["source"] == source and each["query"] == "q0")
            self.assertEqual(READ.provide(params, no_folder), said)

    def test_a_file_is_written_once_and_is_what_a_topic_is_filled_with(self) -> None:
        calls: list[tuple[str, ...]] = []
        with tempfile.TemporaryDirectory() as folder, mock.patch("workloads.nexmark_source.call", lambda *each: calls.append(each)), \
                mock.patch("workloads.nexmark_source.broker_of_run", return_value=mock.Mock(data="data", address="here:9")):
            build = Path(folder)
            (build / "bin").mkdir()
            for name in ("lab_nexmark_fill", "lab_kafka_fill"):
                (build / "bin" / name).touch()
            provided = [READ.provide(params, build) for params in READ.cases("smoke")]
            file = Path(provided[0]["LAB_NEXMARK_FILE"])
            self.assertTrue(file.is_relative_to(build))
            self.assertEqual(provided[:10], [{"LAB_NEXMARK_FILE": str(file)}] * 10)
            self.assertEqual(provided[10:], [{"LAB_KAFKA_BROKER": "here:9", "LAB_KAFKA_TOPIC": "nexmark-20000"}] * 10)
            self.assertEqual([call[0].name for call in calls], ["lab_nexmark_fill", "kafka", "lab_kafka_fill"])
            self.assertEqual(calls[0][1:], (file, 20_000))
            self.assertEqual(calls[1][1:], ("topic", "nexmark-20000", 1, "--data", "data"))
            self.assertEqual(calls[2][1:], ("here:9", "nexmark-20000", file))


if __name__ == "__main__":
    unittest.main()
