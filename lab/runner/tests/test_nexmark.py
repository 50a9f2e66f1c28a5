import unittest

from runner import catalog
from runner.tests import nexmark_by_definition

NEXMARK = catalog.all_workloads()["nexmark"]


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


if __name__ == "__main__":
    unittest.main()
