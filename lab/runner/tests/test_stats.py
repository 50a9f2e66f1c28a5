import unittest

from runner import stats


class Summaries(unittest.TestCase):
    def test_median_and_mad_ignore_an_outlier(self) -> None:
        summary = stats.summarize([10.0, 11.0, 12.0, 13.0, 900.0])
        self.assertEqual(summary.median, 12.0)
        self.assertEqual(summary.mad, 1.0)

    def test_the_interval_holds_the_median_and_stays_within_the_samples(self) -> None:
        samples = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
        summary = stats.summarize(samples)
        self.assertLess(summary.low, summary.median)
        self.assertGreater(summary.high, summary.median)
        self.assertGreaterEqual(summary.low, min(samples))
        self.assertLessEqual(summary.high, max(samples))

    def test_the_same_samples_have_the_same_interval(self) -> None:
        samples = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
        self.assertEqual(stats.summarize(samples), stats.summarize(samples))

    def test_the_interval_covers_the_true_median_about_as_often_as_it_says(self) -> None:
        import numpy
        generator = numpy.random.default_rng(1)
        summaries = [stats.summarize(generator.normal(100.0, 5.0, size=15)) for _ in range(200)]
        covered = sum(each.low <= 100.0 <= each.high for each in summaries)
        self.assertGreater(covered, 0.88 * 200)
        self.assertLess(covered, 200)

    def test_equal_samples_have_an_interval_without_width(self) -> None:
        self.assertEqual(stats.summarize([5.0, 5.0, 5.0]), stats.Summary(5.0, 0.0, 5.0, 5.0))

    def test_one_sample_has_no_interval(self) -> None:
        self.assertEqual(stats.summarize([5.0]), stats.Summary(5.0, 0.0, None, None))

    def test_no_sample_has_no_summary(self) -> None:
        with self.assertRaises(ValueError):
            stats.summarize([])
