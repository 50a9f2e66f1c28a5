"""Nexmark, the field's suite for stream jobs: ten of its queries, over events that are in memory."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "nexmark"
DESCRIPTION = ("People, auctions and bids of an auction house, a query of them: a map, a filter, joins, windows that slide or tumble, "
               "and sessions. The events are those of Apache Beam's generator, and made before the clock starts.")
ITEM = "one event"
HEADLINE = Headline(TIME, "queries are compared by how many events they take in a second, as by their authors")
# A partition. What several add is another question.
THREADS = 1

# Not in a seed document.
SEED: list[dict[str, Any]] = []

EVENTS = {"smoke": 20_000, "base": 1_000_000, "large": 10_000_000}

# The checksums of the answers, by how many events there are: those of lab/runtimes/common/nexmark/model.cpp, which has no part
# in any engine. runner/tests/nexmark_by_definition.py has those of smoke a second time.
ANSWERS: dict[str, dict[int, int]] = {
    "q0": {20_000: 4_365_369_291_628_925_917, 1_000_000: 3_101_567_548_509_162_675, 10_000_000: 9_476_970_396_803_172_314},
    "q1": {20_000: 14_149_710_282_205_353_843, 1_000_000: 11_492_760_606_960_099_387, 10_000_000: 3_251_027_874_060_865_536},
    "q2": {20_000: 7_593_048_905_590_739_067, 1_000_000: 17_646_989_447_153_665_606, 10_000_000: 4_128_975_968_056_000_755},
    "q3": {20_000: 14_251_659_142_407_022_678, 1_000_000: 7_910_931_435_584_458_790, 10_000_000: 1_501_785_216_440_609_296},
    "q4": {20_000: 1_378_001_687_786_031_863, 1_000_000: 13_471_573_468_816_300_683, 10_000_000: 7_904_542_872_778_436_955},
    "q5": {20_000: 14_842_811_942_923_207_152, 1_000_000: 13_042_199_147_018_648_793, 10_000_000: 8_071_866_323_825_421_601},
    "q7": {20_000: 9_603_585_751_556_903_627, 1_000_000: 13_039_411_474_493_871_041, 10_000_000: 18_240_087_372_388_326_950},
    "q8": {20_000: 13_229_760_997_051_931_156, 1_000_000: 113_094_911_899_982_477, 10_000_000: 16_046_794_117_053_473_949},
    "q11": {20_000: 1_859_515_232_083_589_137, 1_000_000: 13_425_387_436_929_312_057, 10_000_000: 162_834_881_301_294_680},
    "q13": {20_000: 16_106_205_884_160_784_563, 1_000_000: 16_864_253_100_840_428_366, 10_000_000: 2_460_789_172_648_763_073},
}


def _cases(events: int, queries: Any = ANSWERS) -> list[dict[str, Any]]:
    return [{"query": query, "events": events} for query in queries]


def cases(size: str) -> list[dict[str, Any]]:
    return _cases(EVENTS[size])


# A map, a join with an interval, and a window that slides.
QUICK = _cases(EVENTS["base"], ("q1", "q4", "q5"))


def items(params: dict[str, Any], threads: int) -> int:
    return params["events"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ANSWERS[params["query"]][params["events"]])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
