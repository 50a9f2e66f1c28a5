import itertools
import unittest
from collections.abc import Callable
from unittest import mock

from runner import catalog, cli, stats
from runner.paths import ROOT
from runner.suites import LONG_REPETITIONS, MOST_THREADS, plan

WORKLOADS = catalog.all_workloads()


def fib_by_definition(n: int) -> tuple[int, int]:
    """The answer, and how many calls it took."""
    if n < 2:
        return n, 1
    first, calls = fib_by_definition(n - 1)
    second, others = fib_by_definition(n - 2)
    return first + second, calls + others + 1


def skynet_by_definition(number: int, width: int) -> tuple[int, int]:
    """The sum of a subtree of `width` leaves, and how many tasks it has."""
    if width == 1:
        return number, 1
    children = [skynet_by_definition(number + child * width // 10, width // 10) for child in range(10)]
    return sum(answer for answer, _ in children), sum(tasks for _, tasks in children) + 1


def nqueens_by_definition(n: int, rows: tuple[int, ...] = ()) -> tuple[int, int]:
    """The ways to complete a board, and how many boards that takes."""
    if len(rows) == n:
        return 1, 1
    safe = [row for row in range(n)
            if all(row != placed and abs(row - placed) != len(rows) - column for column, placed in enumerate(rows))]
    below = [nqueens_by_definition(n, (*rows, row)) for row in safe]
    return sum(answer for answer, _ in below), sum(boards for _, boards in below) + 1


Split = list[tuple[int, int, int]]
# A product of two blocks: which quadrant of C gets which of A's columns and B's rows, in units of half a block.
RIGHT_SPLIT: Split = [(down, right, inner) for inner in (0, 1) for down in (0, 1) for right in (0, 1)]


def matmul_by_quadrants(n: int, element: Callable[[int, int], int], other: Callable[[int, int], int], split: Split) -> list[list[int]]:
    """The product of two matrices given by their elements, down to single numbers, modulo 2^32."""
    product = [[0] * n for _ in range(n)]

    def multiply(row: int, column: int, inner: int, size: int) -> None:
        if size == 1:
            product[row][column] = (product[row][column] + element(row, inner) * other(inner, column)) % 2 ** 32
            return
        half = size // 2
        for down, right, further in split:
            multiply(row + half * down, column + half * right, inner + half * further, half)
    multiply(0, 0, 0, n)
    return product


def matmul_in_closed_form(n: int) -> list[list[int]]:
    """What the adapters compare with."""
    total, squares = sum(range(n)), sum(k * k for k in range(n))
    return [[(squares + (i - j) * total - n * i * j) % 2 ** 32 for j in range(n)] for i in range(n)]


def matmul_by_definition(n: int) -> tuple[int, int]:
    """The elements of a product, all of which must be right, and how many products of blocks it takes."""
    def products(size: int) -> int:
        return 1 if size <= 32 else 8 * products(size // 2)
    return n * n, products(n)


def cache_by_definition(calculations: int) -> int:
    """The answer of a cache after so many calculations one after the other."""
    cache: dict[str, str] = {}
    for _ in range(calculations):
        for counter in range(10):
            value = cache.get(f"hello{counter}", "")
            cache[f"hello{counter}"] = str(int(value or 10_000) + 1)
    return sum(counter * int(value) for counter, value in enumerate(cache.values(), start=1))


def scenario_rows_by_definition(records: int) -> dict[str, list[tuple[int, ...]]]:
    """Order by order, with a table for each scenario that keeps something."""
    rows: dict[str, list[tuple[int, ...]]] = {name: [] for name in WORKLOADS["stream_scenarios"].SCENARIOS}
    amounts: list[int] = []
    groups: dict[int, list[int]] = {}
    windows: dict[tuple[int, int], list[int]] = {}
    for order in range(records):
        customer, amount, begin = order % 1_000, 150 + order % 100, order - order % 3_600
        if amount > 100:
            rows["filter"].append((order, customer, amount))
        amounts.append(amount)
        rows["rows"].append((order, sum(amounts[-100:])))
        groups.setdefault(customer, []).append(amount)
        window = windows.setdefault((customer, begin), [])
        window.append(amount)
        rows["changes"].append((customer, begin, len(window), sum(window)))
    rows["join"] = [(order, payment, 150 + order % 100) for order in range(records)
                    for payment in range(order, min(order + 1_801, records)) if payment * 7 % 1_000 == order % 1_000]
    rows["group"] = [(customer, len(of), sum(of)) for customer, of in groups.items()]
    rows["tumbling"] = [(*key, len(of), sum(of)) for key, of in windows.items()]
    return rows


def kafka_rows_by_definition(records: int, keys: int) -> dict[str, list[tuple[int, ...]]]:
    """Record by record, with a table of totals."""
    totals: dict[int, list[int]] = {}
    copies = []
    for number in range(records):
        key, amount = number * 7_919 % keys, number % 1_000 + 1
        totals.setdefault(key, []).append(amount)
        copies.append((key, number, 2 * amount))
    return {"count": [(key, len(of), sum(of)) for key, of in totals.items()], "copy": copies, "copy_once": copies}


def hash_by_definition(row: tuple[int, ...]) -> int:
    value = 0x9E3779B97F4A7C15
    for field in row:
        value = (value ^ field) * 0xBF58476D1CE4E5B9 % 2 ** 64
        value ^= value >> 32
    return value


class Definitions(unittest.TestCase):
    def assert_defined(self, name: str, params: catalog.Params, threads: int, answer: int, items: int) -> None:
        workload = WORKLOADS[name]
        self.assertEqual(workload.expected(params, threads), str(answer))
        self.assertEqual(workload.items(params, threads), items)

    def test_the_catalog_has_all_workloads(self) -> None:
        self.assertEqual(list(WORKLOADS), ["accept_churn", "cachecalc", "cachecalc_sharded", "cachecalc_variants",
                                           "call_overhead", "channel_mpmc", "channel_rendezvous", "channel_spsc",
                                           "coroutine_costs", "dispatcher", "echo", "echo_many", "echo_pool", "fairness", "fib", "fib_tasks",
                                           "file_read", "fork_noop", "fork_pool", "idle_tasks", "inject",
                                           "io_socket", "kafka_job", "latency_under_load", "matmul", "memory_after",
                                           "mpsc_batches", "mutex_handoff", "nexmark", "nexmark_source", "nqueens", "outside_wake",
                                           "oversubscribed", "partition_receiver", "pipeline", "record_path",
                                           "skynet", "spawn_join", "stream_scenarios", "suspend_chain", "timer_storm",
                                           "unbalanced", "wait", "yield"])

    def test_trees_agree_with_their_definition(self) -> None:
        for n in (0, 1, 2, 10, 18):
            self.assert_defined("fib", {"n": n}, 2, *fib_by_definition(n))
        for depth in (0, 1, 3):
            self.assert_defined("skynet", {"depth": depth}, 2, *skynet_by_definition(0, 10 ** depth))

        for n in range(1, 8):
            self.assert_defined("nqueens", {"n": n}, 2, *nqueens_by_definition(n))
        for n in (32, 64, 128):
            self.assert_defined("matmul", {"n": n}, 2, *matmul_by_definition(n))

    def test_a_wrong_split_of_matmul_gives_a_wrong_product(self) -> None:
        def product(split: Split) -> list[list[int]]:
            return matmul_by_quadrants(8, lambda i, k: i + k, lambda k, j: k - j, split)
        right = matmul_in_closed_form(8)
        self.assertEqual(product(RIGHT_SPLIT), right)
        # Each multiplies as many blocks into each quadrant as the right one, so matrices of ones tell none of them.
        crossed = [(down, right, inner ^ down ^ right) for down, right, inner in RIGHT_SPLIT]
        same_half_twice = [(down, right, 0) for down, right, _ in RIGHT_SPLIT]
        self.assertEqual(product(crossed), right)
        self.assertNotEqual(product(same_half_twice), right)
        ones = [[8] * 8 for _ in range(8)]
        self.assertEqual(matmul_by_quadrants(8, lambda i, k: 1, lambda k, j: 1, same_half_twice), ones)

    def test_the_large_sizes_of_the_trees_are_those_of_the_field_s_suite(self) -> None:
        cases = {name: WORKLOADS[name].cases("large") for name in ("fib", "skynet", "nqueens", "matmul")}
        self.assertEqual(cases, {"fib": [{"n": 39}], "skynet": [{"depth": 8}], "nqueens": [{"n": 14}],
                                 "matmul": [{"n": 2048}]})
        counted = [WORKLOADS[name].items(params, 2) for name, (params,) in cases.items()]
        self.assertEqual(counted, [204_668_309, 111_111_111, 27_358_553, 262_144])

    def test_forks_agree_with_their_definition(self) -> None:
        self.assert_defined("fork_noop", {"resource": "pool", "count": 1000}, 1, sum(range(1000)), 1000)
        self.assert_defined("spawn_join", {"count": 1000}, 2, sum(range(1000)), 1000)
        # Seven forks on two sub-tasks are three each; the seventh is not made.
        self.assert_defined("fork_pool", {"mode": "final", "count": 7}, 2, 2 * (0 + 1 + 2), 6)

    def test_counts_agree_with_their_definition(self) -> None:
        self.assert_defined("pipeline", {"concurrency": 8, "depth": 5, "items": 50}, 2, 8 * 5 * 50, 8 * 50)
        self.assert_defined("yield", {"tasks": 8, "yields": 100}, 2, 800, 800)
        self.assert_defined("call_overhead", {"calls": 5}, 1, 5, 5)

    def test_the_jobs_of_fairness_agree_with_their_definition(self) -> None:
        for step in (0, 20):
            self.assert_defined("fairness", {"waits": "fork", "jobs": 200, "step_us": step}, 1, 200, 200)
        # The maker gave up waiting for the last of them.
        self.assertIsNotNone(WORKLOADS["fairness"].check("199", {"waits": "fork", "jobs": 200, "step_us": 0}, 1))

    def test_channels_agree_with_their_definition(self) -> None:
        in_order = sum(place * value for place, value in enumerate(range(1, 1001), start=1))
        self.assert_defined("channel_spsc", {"count": 1000, "capacity": 4096}, 2, in_order, 1000)
        self.assert_defined("channel_rendezvous", {"count": 1000}, 2, in_order, 1000)
        # Ten numbers of four producers are two each; the other two are not sent.
        self.assert_defined("channel_mpmc", {"count": 10, "capacity": 4, "producers": 4, "consumers": 3}, 2,
                            sum(range(1, 9)), 8)
        numbers = iter(range(1, 21))
        batches = [[next(numbers) for _ in range(4)] for _ in range(5)]
        self.assert_defined("mpsc_batches", {"batches": 5, "batch": 4}, 2,
                            sum(place * sum(batch) for place, batch in enumerate(batches, start=1)), 20)

    def test_an_answer_of_a_channel_in_order_is_no_other_order_s(self) -> None:
        in_order = int(WORKLOADS["channel_spsc"].expected({"count": 4, "capacity": 1}, 2))
        for values in itertools.permutations(range(1, 5)):
            answer = sum(place * value for place, value in enumerate(values, start=1))
            self.assertEqual(answer == in_order, values == (1, 2, 3, 4), values)

    def test_locks_and_timers_agree_with_their_definition(self) -> None:
        self.assert_defined("mutex_handoff", {"tasks": 8, "locks": 250}, 2, 2000, 2000)
        self.assert_defined("timer_storm", {"count": 3, "shortest_us": 10, "longest_us": 19}, 2, 10 + 19 + 18, 3)

    def test_the_caches_agree_with_their_definition(self) -> None:
        for idiom in ("compute", "worker", "strand", "mutex"):
            self.assert_defined("cachecalc", {"idiom": idiom, "rounds": 3, "tasks": 7, "wait_us": 8}, 2,
                                3 * cache_by_definition(14), 21)
        self.assert_defined("cachecalc_sharded", {"shards": 2, "rounds": 3, "tasks": 7, "wait_us": 8}, 2,
                            2 * 3 * cache_by_definition(14), 42)

    def test_all_shards_do_the_work_of_one_cache_and_the_document_s_are_four(self) -> None:
        sharded, single = WORKLOADS["cachecalc_sharded"], WORKLOADS["cachecalc"]
        self.assertEqual({params["shards"] for params in sharded.cases("base")}, {sharded.THREADS})
        self.assertEqual({params["shards"] for params in sharded.SEED}, {sharded.THREADS, 4})
        for params in [*sharded.cases("base"), *sharded.SEED]:
            self.assertIn(params["wait_us"], [each["wait_us"] for each in single.SEED])
            self.assertEqual(sharded.items(params, 2) // params["rounds"], single.items(single.cases("base")[0], 2) // single.cases("base")[0]["rounds"])

    def test_the_sleepers_of_a_storm_sleep_for_every_time_from_the_shortest_to_the_longest(self) -> None:
        for size in ("base", "large"):
            (params,) = WORKLOADS["timer_storm"].cases(size)
            shortest, longest = params["shortest_us"], params["longest_us"]
            span = longest - shortest + 1
            sums = [int(WORKLOADS["timer_storm"].expected(params | {"count": count}, 2)) for count in (span, 2 * span)]
            self.assertEqual(sums, [sum(range(shortest, longest + 1)), 2 * sum(range(shortest, longest + 1))])
            self.assertGreater(params["count"], span)

    def test_echoes_agree_with_their_definition(self) -> None:
        in_order = sum(place * number for place, number in enumerate(range(1, 101), start=1))
        self.assert_defined("echo", {"transport": "udp", "processes": 2, "rounds": 100}, 1, in_order, 100)
        self.assert_defined("echo_many", {"connections": 7, "mode": "open", "requests": 100, "bytes": 64, "rate": 9}, 1,
                            in_order, 100)
        self.assert_defined("echo_pool", {"workers": 2, "compute_us": 5, "connections": 7, "mode": "open", "requests": 100,
                                          "bytes": 64, "rate": 9}, 2, in_order, 100)
        # Each of seven connections has fourteen requests of a hundred; the other two are not sent.
        each = sum(number * number for number in range(1, 15))
        self.assert_defined("io_socket", {"connections": 7, "requests": 100, "request_bytes": 53, "response_bytes": 78}, 2,
                            7 * each, 7 * 14)

    def test_the_seed_sizes_of_an_echo_are_a_thousand_rounds_over_everything(self) -> None:
        echo = WORKLOADS["echo"]
        self.assertEqual({params["rounds"] for params in echo.SEED}, {1_000})
        pairs = [(params["transport"], params["processes"]) for params in echo.SEED]
        self.assertEqual(sorted(pairs), sorted(itertools.product(
            ("tcp", "udp", "unix", "unix_datagram", "pipe", "shm_spin", "shm_sem"), (1, 2))))

    def test_the_connections_of_a_churn_agree_with_their_definition(self) -> None:
        received = [(number + 1) % 256 for number in range(1, 601)]
        self.assert_defined("accept_churn", {"connections": 600, "in_flight": 3}, 1,
                            sum(number * byte for number, byte in enumerate(received, start=1)), 600)

    def test_the_reads_of_a_file_agree_with_their_definition(self) -> None:
        file = b"".join(word.to_bytes(8, "little") for word in range((1 << 20) // 8))
        blocks = [file[at:at + 4096] for at in range(0, len(file), 4096)]
        ends = [int.from_bytes(block[:8], "little") + int.from_bytes(block[-8:], "little") for block in blocks]
        drawn, state = [], 1
        for _ in range(1000):
            state = (state * 6364136223846793005 + 1442695040888963407) & (2 ** 64 - 1)
            drawn.append((state >> 33) % len(blocks))
        self.assertGreater(len(set(drawn)), 0.9 * len(blocks))
        params = {"bytes": 4096, "file_mib": 1, "reads": 1000}
        for pattern, order in (("random", drawn), ("sequential", [number % 256 for number in range(1000)])):
            answer = sum(place * ends[block] for place, block in enumerate(order, start=1))
            self.assert_defined("file_read", params | {"pattern": pattern}, 1, answer, 1000)

    def test_what_threads_outside_drive_agrees_with_its_definition(self) -> None:
        self.assert_defined("outside_wake", {"workers": 1, "cpus": 2, "gap_us": 0, "requests": 9}, 2,
                            sum(i + 1 for i in range(9)), 9)
        # Ten tasks of three threads are three each; the tenth is not started.
        self.assert_defined("inject", {"producers": 3, "count": 10}, 2, sum(range(1, 10)), 9)
        self.assert_defined("latency_under_load", {"load_percent": 20, "work_us": 20, "count": 10}, 2, sum(range(1, 11)), 10)
        # A task was lost.
        self.assertIsNotNone(WORKLOADS["inject"].check(str(sum(range(1, 9))), {"producers": 3, "count": 10}, 2))

    def test_what_is_measured_of_the_memory_agrees_with_its_definition(self) -> None:
        self.assert_defined("idle_tasks", {"count": 7, "sleep_ms": 50}, 2, 7, 7)
        self.assert_defined("memory_after", {"count": 7, "idle_ms": 20}, 2, sum(range(7)), 7)
        # One woke before the memory was read.
        self.assertIsNotNone(WORKLOADS["idle_tasks"].check("0", {"count": 7, "sleep_ms": 50}, 2))

    def test_chains_and_crowds_agree_with_their_definition(self) -> None:
        through = sum(value + 5 for value in range(50))
        self.assert_defined("suspend_chain", {"chains": 8, "depth": 5, "values": 50}, 2, 8 * through, 8 * 5 * 50)
        # Ten numbers of four senders are two each; the other two are not sent.
        self.assert_defined("oversubscribed", {"idiom": "channel", "workers": 64, "count": 10}, 2, sum(range(1, 9)), 8)
        self.assert_defined("oversubscribed", {"idiom": "fork", "workers": 64, "count": 10}, 2, sum(range(10)), 10)

    def test_a_crowd_has_more_workers_than_the_process_has_cpus_and_no_more_than_an_adapter_takes(self) -> None:
        for size in catalog.SIZES:
            for params in WORKLOADS["oversubscribed"].cases(size):
                if size != "large":
                    self.assertGreater(params["workers"], WORKLOADS["oversubscribed"].THREADS)
                self.assertLessEqual(params["workers"], MOST_THREADS)

    def test_a_pool_outgrows_its_cpus_in_steps(self) -> None:
        workers = {params["workers"] for params in WORKLOADS["oversubscribed"].cases("large")}
        self.assertEqual(workers, {1, 2, 4, 8, 16, 32, 64, 1_000})

    def test_a_pool_is_asked_after_a_second_of_idleness_and_no_smoke_run_waits_for_that(self) -> None:
        wake = WORKLOADS["outside_wake"]
        self.assertIn({"workers": 2, "cpus": 2, "gap_us": 1_000_000, "requests": 1}, wake.cases("base"))
        self.assertLess(max(params["gap_us"] for params in [*wake.cases("smoke"), *wake.QUICK]), 1_000)

    def test_the_small_trees_have_the_nodes_that_their_definition_gives_and_the_named_ones_those_published(self) -> None:
        unbalanced = WORKLOADS["unbalanced"]
        for tree in ("small", "medium"):
            counted = unbalanced.count_nodes(tree)
            self.assert_defined("unbalanced", {"tree": tree}, 2, counted, counted)
        # Counting these, too, takes half a minute: https://sourceforge.net/projects/uts-benchmark has them.
        for tree, nodes in (("T1", 4_130_071), ("T3", 4_112_897)):
            self.assert_defined("unbalanced", {"tree": tree}, 2, nodes, nodes)

    def test_the_first_nodes_of_a_binomial_tree_are_its_root_s_children(self) -> None:
        unbalanced = WORKLOADS["unbalanced"]
        self.assertEqual(unbalanced.children_of("T3", bytes(20), 0), 2_000)
        # The digest's last 31 bits decide: none is the least share, all are the greatest.
        self.assertEqual(unbalanced.children_of("T3", bytes(20), 1), 8)
        self.assertEqual(unbalanced.children_of("T3", bytes([255] * 20), 1), 0)

    def test_a_sum_beyond_a_word_wraps(self) -> None:
        count = 10 ** 10
        expected = str((count * (count - 1) // 2) % 2 ** 64)
        self.assertEqual(WORKLOADS["spawn_join"].expected({"count": count}, 2), expected)

    def test_a_wrong_answer_is_told_with_the_right_one(self) -> None:
        for workload in WORKLOADS.values():
            params = workload.cases("smoke")[0]
            right = workload.expected(params, 2)
            self.assertIsNone(workload.check(right, params, 2))
            for wrong in ("", "7", f"{right}0", f" {right}", "None"):
                self.assertIn(right, workload.check(wrong, params, 2) or "", workload.NAME)

    def test_every_size_has_cases_and_their_parameters_have_one_shape(self) -> None:
        for workload in WORKLOADS.values():
            shape = set(workload.cases("smoke")[0])
            for params in [each for size in catalog.SIZES for each in workload.cases(size)] + workload.SEED:
                self.assertEqual(set(params), shape, workload.NAME)

    def test_every_workload_has_its_page(self) -> None:
        for name in WORKLOADS:
            self.assertTrue((ROOT / "docs" / "bench" / f"{name}.md").is_file(), name)


    def test_the_tasks_of_the_seed_documents_agree_with_their_definition(self) -> None:
        self.assert_defined("cachecalc_variants", {"variant": "async", "rounds": 3, "tasks": 7, "wait_us": 8}, 2,
                            3 * cache_by_definition(14), 21)
        self.assert_defined("fib_tasks", {"shape": "thread", "n": 10, "tasks": 7}, 2, 7 * fib_by_definition(10)[0], 7)
        self.assert_defined("partition_receiver", {"receiver": "parks", "gap_us": 0, "batches": 4, "yields": 0}, 2,
                            1 * 1 + 2 * 2 + 3 * 3 + 4 * 4, 4)
        self.assert_defined("wait", {"idiom": "timer", "count": 5, "wait_us": 64}, 1, 320, 5)
        self.assert_defined("coroutine_costs", {"step": "switch", "count": 9, "live": 3}, 1, 9, 9)

    def test_the_programs_of_the_dispatcher_agree_with_their_definition(self) -> None:
        case = WORKLOADS["dispatcher"]._case
        for program in ("spawn", "throughput"):
            self.assert_defined("dispatcher", case(program, 250, 100), 2, sum(range(250)), 250)
        batches = [range(1, 101), range(101, 201)]
        self.assert_defined("dispatcher", case("channel", 200, 100), 1, sum(place * sum(batch) for place, batch in enumerate(batches, 1)), 200)
        for program in ("yields", "partition", "spins", "sleeps"):
            params = case(program, 30, 10, 50, 17)
            self.assertEqual(WORKLOADS["dispatcher"].expected(params, 2),
                             WORKLOADS["record_path"].expected({"records": 30, "steps": 17}, 2))
        self.assert_defined("dispatcher", case("clone", 7), 1, 7 * 150, 7)
        # The document's own numbers.
        self.assertEqual([(each["count"], each["batch"], each["yields"]) for each in WORKLOADS["dispatcher"].SEED[:5]],
                         [(10_000, 0, 0), (50_000, 100, 0), (10_000, 100, 0), (10_000, 100, 50), (10_000, 100, 50)])

    def test_the_results_of_records_agree_with_their_definition(self) -> None:
        def result(value: int, steps: int) -> int:
            for _ in range(steps):
                value = (value * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2 ** 64
                value ^= value >> 29
            return value
        for path in ("plain", "shared"):
            params = {"path": path, "records": 30, "batch": 8, "partitions": 3, "steps": 17}
            self.assert_defined("record_path", params, 2, sum(result(record, 17) for record in range(1, 31)) % 2 ** 64, 30)

    def test_the_rows_of_stream_scenarios_agree_with_their_definition(self) -> None:
        for records in (50, 1_000, 7_300):
            for scenario, rows in scenario_rows_by_definition(records).items():
                params = {"scenario": scenario, "records": records, "batch": 100, "partitions": 8}
                self.assert_defined("stream_scenarios", params, 2, sum(map(hash_by_definition, rows)) % 2 ** 64, records)

    def test_the_rows_of_kafka_job_agree_with_their_definition(self) -> None:
        for records, keys in ((50, 100), (3_000, 7)):
            for job, rows in kafka_rows_by_definition(records, keys).items():
                params = {"job": job, "records": records, "keys": keys, "commit_ms": 100}
                self.assert_defined("kafka_job", params, 1, sum(map(hash_by_definition, rows)) % 2 ** 64, records)


class Plans(unittest.TestCase):
    def test_the_suite_seed_has_the_threads_of_the_document_beside_those_of_the_run(self) -> None:
        def threads(name: str, size: str, *asked: int) -> list[int]:
            return sorted({case.threads for case in plan([WORKLOADS[name]], (size,), *asked)})
        self.assertEqual(threads("spawn_join", "seed", 2), [1, 2])
        self.assertEqual(threads("spawn_join", "seed", 1), [1])
        self.assertEqual(threads("spawn_join", "base", 2), [2])
        self.assertEqual(threads("pipeline", "seed", 2), [2])

    def test_a_case_that_two_sizes_share_is_planned_once_with_the_longer_timeout(self) -> None:
        base = plan([WORKLOADS["pipeline"]], ("base",), 2)
        both = plan([WORKLOADS["pipeline"]], ("base", "large"), 2)
        self.assertEqual(len(both), len(base) + 1)
        self.assertGreater(both[0].timeout_seconds, base[0].timeout_seconds)

    def test_quick_has_cases_of_its_own_of_workloads_that_are_not_named(self) -> None:
        for name, workload in WORKLOADS.items():
            quick, base = getattr(workload, "QUICK", workload.cases("base")), workload.cases("base")
            self.assertTrue(0 < len(quick) <= 3 and all(params.keys() == base[0].keys() for params in quick), name)
            # As much as base or less, and of requests enough for a percentile.
            items = [workload.items(params, 2) for params in quick]
            self.assertLessEqual(max(items), max(workload.items(params, 2) for params in base), name)
            if name in ("accept_churn", "echo_many", "echo_pool", "latency_under_load", "outside_wake"):
                self.assertGreaterEqual(min(items), 1_000, name)

        def cases_of(*arguments: str) -> int:
            parser = cli.make_parser()
            state, _ = cli.planned(parser, parser.parse_args([*arguments, "--runtime", "coflux"]))
            return len({row.case.key for row in state.rows if row.case.workload == "echo_many"})
        self.assertEqual(cases_of(), 1)
        self.assertEqual(cases_of("--workload", "echo_many"), len(WORKLOADS["echo_many"].cases("base")))
        self.assertEqual(cases_of("--size", "base"), len(WORKLOADS["echo_many"].cases("base")))

    def test_a_case_of_the_suite_seed_that_takes_long_has_fewer_rounds(self) -> None:
        def rounds(*arguments: str) -> dict[int, int]:
            parser = cli.make_parser()
            state, _ = cli.planned(parser, parser.parse_args([*arguments, "--workload", "fork_pool", "--runtime", "coflux"]))
            return {row.case.params["count"]: row.case.repetitions(state.repetitions) for row in state.rows}
        self.assertEqual(rounds("--suite", "seed"), {100_000: 9, 500_000: 9, 1_000_000: 6, 3_000_000: 6, 5_000_000: 6, 7_000_000: 6,
                                                      10_000_000: 6})
        self.assertEqual(rounds("--suite", "seed", "--reps", "3")[10_000_000], 3)
        self.assertEqual(rounds("--suite", "seed", "--reps", "11")[10_000_000], 11)
        self.assertEqual(rounds("--size", "large"), {10_000_000: 9})
        # So many are enough for the sign test to decide, and the interval has the 95 % that a reader expects.
        self.assertTrue(stats.can_decide(LONG_REPETITIONS))
        self.assertGreaterEqual(stats.rank(LONG_REPETITIONS)[1], stats.CONFIDENCE)
        for workload in WORKLOADS.values():
            self.assertTrue(all(params in workload.SEED for params in getattr(workload, "LONG", [])), workload.NAME)

    def test_single_threaded_workloads_are_recorded_with_one_thread(self) -> None:
        threads = {case.workload: case.threads for case in plan(list(WORKLOADS.values()), ("smoke",), 4)}
        self.assertEqual({name for name, count in threads.items() if count == 1},
                         {"accept_churn", "call_overhead", "coroutine_costs", "echo", "echo_many", "file_read", "fork_noop",
                          "kafka_job", "nexmark", "nexmark_source", "wait"})
        self.assertEqual(threads["fib"], 4)

    def test_a_run_has_all_cpus_where_nobody_chose_the_threads(self) -> None:
        def threads_of(*arguments: str) -> list[int]:
            parser = cli.make_parser()
            state, _ = cli.planned(parser, parser.parse_args([*arguments, "--workload", "fib", "--runtime", "coflux"]))
            return sorted({row.case.threads for row in state.rows})
        with mock.patch("runner.execute.cpus_for", return_value=[0, 1]):
            self.assertEqual(threads_of("--suite", "full"), [2])
            self.assertEqual(threads_of("--suite", "full", "--threads", "1", "2"), [1, 2])

    def test_full_has_all_cases_of_base_size(self) -> None:
        parser = cli.make_parser()
        state, _ = cli.planned(parser, parser.parse_args(["--suite", "full", "--runtime", "coflux", "--threads", "1"]))
        cases = [(case.workload, case.params) for case in {row.case.key: row.case for row in state.rows}.values()]
        self.assertEqual(cases, [(name, params) for name, each in WORKLOADS.items() if name not in ("kafka_job", "nexmark_source")
                                 for params in each.cases("base")])

    def test_a_workload_that_needs_a_broker_is_measured_where_it_is_named_and_on_its_runtimes_alone(self) -> None:
        def rows(*arguments: str) -> set[tuple[str, str]]:
            parser = cli.make_parser()
            state, _ = cli.planned(parser, parser.parse_args([*arguments, "--threads", "1"]))
            return {(row.case.workload, row.runtime) for row in state.rows}
        everywhere = rows("--suite", "smoke")
        self.assertFalse([row for row in everywhere if {"kafka_job", "nexmark_source", "kafka_streams"} & set(row)])
        named = rows("--suite", "smoke", "--workload", "kafka_job", "fib")
        self.assertEqual({runtime for workload, runtime in named if workload == "kafka_job"}, {"bare", "coflux", "kafka_streams"})
        self.assertNotIn(("fib", "kafka_streams"), named)

    def test_labels_are_short_and_still_tell_cases_apart(self) -> None:
        self.assertEqual(catalog.short_label({"resource": "monotonic", "count": 100_000}), "monotonic 100k")
        self.assertEqual(catalog.short_label({"concurrency": 8, "depth": 20}), "concurrency=8 depth=20")
        self.assertEqual([catalog.compact(value) for value in (0, 999, 1_500, 2_000_000)], ["0", "999", "1500", "2M"])
        for workload in WORKLOADS.values():
            cases = plan([workload], ("base", "large", "seed"), 2)
            params = {catalog.label(case.params) for case in cases}
            self.assertEqual(len({catalog.short_label(case.params) for case in cases}), len(params), workload.NAME)
