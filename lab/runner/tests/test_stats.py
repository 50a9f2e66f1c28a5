import unittest
from unittest import mock

import numpy

from runner import stats

SIMULATIONS = 10_000


class Summaries(unittest.TestCase):
    def test_median_and_mad_ignore_an_outlier(self) -> None:
        summary = stats.summarize([10.0, 11.0, 12.0, 13.0, 900.0])
        self.assertEqual(summary.median, 12.0)
        self.assertEqual(summary.mad, 1.0)

    def test_the_interval_is_of_two_samples_and_ignores_an_outlier_where_there_are_enough(self) -> None:
        found = stats.interval([19.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 900.0])
        self.assertEqual((found.low, found.high), (12.0, 19.0))
        # Seven do not suffice to leave one out at each end.
        self.assertEqual(stats.interval([11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 900.0]).high, 900.0)

    def test_it_is_the_narrowest_that_covers_what_is_asked_for(self) -> None:
        for n in range(6, 60):
            left_out, coverage = stats.rank(n)
            self.assertGreaterEqual(coverage, stats.CONFIDENCE)
            self.assertLess(1 - 2 * stats.tail(n, left_out + 1), stats.CONFIDENCE)

    def test_equal_samples_have_an_interval_without_width(self) -> None:
        found = stats.interval([5.0] * 9)
        self.assertEqual((found.low, found.high), (5.0, 5.0))

    def test_one_sample_has_no_interval(self) -> None:
        self.assertEqual(stats.summarize([5.0]), stats.Summary(5.0, 0.0, None))

    def test_no_sample_has_no_summary(self) -> None:
        with self.assertRaises(ValueError):
            stats.summarize([])


class Coverage(unittest.TestCase):
    """What is claimed, against many samples of distributions whose medians are known."""

    def test_the_interval_covers_the_true_median_as_often_as_it_says(self) -> None:
        generator = numpy.random.default_rng(17)
        for n in (*range(2, 16), 25):
            shape = (SIMULATIONS, n)
            drawn = {
                "normal": (generator.normal(100.0, 5.0, shape), 100.0),
                "skewed": (generator.lognormal(0.0, 2.0, shape), 1.0),
                "with far outliers": (generator.standard_cauchy(shape), 0.0),
                # Two states of the machine, as often the one as the other: no value near the median.
                "two states": (generator.choice([1.0, 6.0], shape) + generator.uniform(-0.5, 0.5, shape), None),
            }
            for name, (samples, median) in drawn.items():
                # Any value between the two states is a median of the last.
                low_end, high_end = (1.5, 5.5) if median is None else (median, median)
                found = [stats.interval(row) for row in samples.tolist()]
                covered = sum(each.low <= high_end and low_end <= each.high for each in found) / SIMULATIONS
                self.assertAlmostEqual(covered, found[0].coverage, delta=0.02, msg=f"{n} of {name}")

    def test_the_claims_are_those_of_the_binomial_distribution(self) -> None:
        self.assertEqual([round(stats.rank(n)[1], 4) for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)],
                         [0.5, 0.75, 0.875, 0.9375, 0.9688, 0.9844, 0.9922, 0.9609, 0.9883])


class Tests(unittest.TestCase):
    def test_a_difference_that_is_none_is_found_as_often_as_the_level_says(self) -> None:
        generator = numpy.random.default_rng(4)
        for n in (6, 9, 11, 15):
            ratios = generator.lognormal(0.0, 0.5, (SIMULATIONS, n))
            found = sum(stats.sign_test(row) <= 0.05 for row in ratios.tolist()) / SIMULATIONS
            self.assertAlmostEqual(found, 1 - stats.rank(n)[1], delta=0.012, msg=str(n))

    def test_it_agrees_with_the_interval(self) -> None:
        generator = numpy.random.default_rng(5)
        for n in range(2, 16):
            for ratios in generator.lognormal(0.4, 0.5, (300, n)).tolist():
                found = stats.interval(ratios)
                apart = found.coverage >= stats.CONFIDENCE and not found.low <= 1.0 <= found.high
                self.assertEqual(stats.sign_test(ratios) <= 1 - stats.CONFIDENCE, apart, ratios)

    def test_how_far_off_a_round_is_has_no_say(self) -> None:
        self.assertEqual(stats.sign_test([0.9] * 8 + [1.1]), stats.sign_test([0.9] * 8 + [50.0]))
        self.assertLess(stats.sign_test([0.9] * 8 + [50.0]), 0.05)

    def test_equal_rounds_speak_for_neither_side(self) -> None:
        self.assertEqual(stats.sign_test([1.0] * 9), 1.0)
        self.assertGreater(stats.sign_test([1.0, 1.0, *[1.1] * 7]), 0.05)

    def test_fewer_than_six_rounds_cannot_decide(self) -> None:
        self.assertEqual([stats.can_decide(n) for n in range(8)], [False] * 6 + [True] * 2)
        self.assertGreater(stats.sign_test([0.1] * 5), 0.05)


class Ranks(unittest.TestCase):
    SIZES = ((4, 4), (5, 9), (9, 9), (11, 9))

    def test_p_counts_the_orders(self) -> None:
        # One of the 70 orders of 4 and 4 has all of the first above, and one all below.
        self.assertAlmostEqual(stats.rank_test([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0]), 2 / 70)
        # The 6 orders of 2 and 2: 1 3 against 2 4 is off by one place, as are all but the two in the middle.
        self.assertAlmostEqual(stats.rank_test([1.0, 3.0], [2.0, 4.0]), 4 / 6)

    def test_equal_samples_are_no_difference(self) -> None:
        self.assertEqual(stats.rank_test([5.0] * 9, [5.0] * 9), 1.0)
        self.assertEqual(stats.rank_test([5.0] * 40, [5.0] * 40), 1.0)
        self.assertEqual(stats.rank_test([], [1.0]), 1.0)

    def test_how_far_off_a_sample_is_has_no_say(self) -> None:
        low = [float(i) for i in range(9)]
        self.assertEqual(stats.rank_test([10.0] * 9, low), stats.rank_test([*[10.0] * 8, 900.0], low))

    def test_a_difference_that_is_none_is_found_no_more_often_than_the_level_says_and_the_interval_agrees(self) -> None:
        generator = numpy.random.default_rng(6)
        for n, m in self.SIZES:
            for name, draw in (("skewed", lambda size: generator.lognormal(0.0, 1.0, size)),
                               ("two states", lambda size: generator.choice([1.0, 6.0], size) + generator.uniform(0.0, 0.5, size))):
                found = covered = 0
                for _ in range(4_000):
                    over, under = draw(n).tolist(), draw(m).tolist()
                    apart = stats.rank_test(over, under) <= stats.LEVEL
                    _, interval = stats.factor_between(over, under)
                    found += apart
                    covered += interval.low <= 1.0 <= interval.high
                    self.assertEqual(apart, not interval.low <= 1.0 <= interval.high, (over, under))
                self.assertAlmostEqual(covered / 4_000, interval.coverage, delta=0.012, msg=f"{n} and {m}, {name}")

    def test_the_normal_distribution_joins_on_to_the_orders(self) -> None:
        generator = numpy.random.default_rng(7)
        for above in (1.0, 1.3, 1.6):
            over, under = (generator.lognormal(0.0, 0.5, 25) * above).tolist(), generator.lognormal(0.0, 0.5, 25).tolist()
            exact = stats.rank_test(over, under)
            with mock.patch.object(stats, "EXACT_UP_TO", 10):
                self.assertAlmostEqual(stats.rank_test(over, under), exact, delta=0.005)
                left_out, coverage = stats._left_out.__wrapped__(25, 25)
            self.assertEqual(coverage, stats.CONFIDENCE)
            self.assertAlmostEqual(left_out, stats._left_out(25, 25)[0], delta=1)

    def test_a_factor_is_found_and_one_sample_has_no_interval(self) -> None:
        low = [float(i) for i in range(1, 10)]
        value, interval = stats.factor_between([3 * each for each in low], low)
        self.assertAlmostEqual(value, 3.0)
        self.assertLess(interval.low, 3.0)
        self.assertGreater(interval.high, 3.0)
        self.assertEqual(stats.factor_between([6.0], [3.0]), (2.0, None))

    def test_so_few_cannot_decide(self) -> None:
        self.assertEqual([stats.can_decide_between(n, n) for n in range(1, 6)], [False, False, False, True, True])
        self.assertFalse(stats.can_decide_between(1, 9))

    def test_holm_corrects_for_the_number_of_tests(self) -> None:
        self.assertEqual(stats.holm([0.01, 0.04, 0.03, 0.005]), [True, False, False, True])
        self.assertEqual(stats.holm([0.04]), [True])
        self.assertEqual(stats.holm([]), [])
