// kafka::topic_store, on the brokers of rdkafka_mock.h, which show readers also what is not committed.
#include <coflux/kafka/topic_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;
using stream::checkpoint;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto raw = std::as_bytes(std::span(text));
    return {raw.begin(), raw.end()};
}
/// Slot i of region 1 has the text i.
checkpoint made(std::int64_t at, const std::vector<std::string>& texts) {
    checkpoint c{4, {{"p", at}}, {}};
    for (std::uint32_t i = 0; i != texts.size(); ++i) c.states.push_back({1, i, bytes_of(texts[i])});
    return c;
}
std::string shown(const std::optional<checkpoint>& c) {
    if (!c) return "none";
    std::string text;
    for (const stream::position& p : c->at) text += p.partition + std::to_string(p.next);
    for (const stream::slot_state& s : c->states) {
        text += " " + std::to_string(s.region) + "." + std::to_string(s.slot) + "=" +
                std::string(reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size());
    }
    return text;
}

kafka::producer_options transactional(const mock_cluster& cluster, std::string id = "counts-1") {
    auto options = cluster.producer();
    options.transactional_id = std::move(id);
    return options;
}
kafka::topic_store store_of(const mock_cluster& cluster, kafka::topic_store_options options = {}) {
    return {transactional(cluster), {"states", 1}, "counts", options};
}
call<std::string> loads(environment&, kafka::topic_store from, std::int64_t at = -1) {
    auto&& here = co_await coflux::context();
    const stream::positions wanted{{"p", at}};
    std::string text;
    try {
        text = shown(co_await from.load(here, at < 0 ? nullptr : &wanted));
    } catch (const stream::corrupt_state& e) {
        text = e.what();
    }
    co_await from.close(here);
    co_return text;
}
/// How many messages have come to the partition.
call<std::int64_t> messages_of(environment&, const mock_cluster& cluster) {
    auto&& here = co_await coflux::context();
    kafka::consumer in(cluster.member_of("counters"));
    const kafka::watermarks bounds = co_await in.bounds(here, {"states", 1});
    co_await in.close(here);
    co_return bounds.high;
}

TEST(kafka_topic_store, gives_another_process_what_was_stored_last_and_what_was_stored_before) {
    mock_cluster cluster;
    cluster.make_topic("states", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "none");
        auto store = store_of(cluster);
        EXPECT_EQ(shown(co_await store.load(here, nullptr)), "none");
        for (int i = 1; i <= 5; ++i) co_await store.store(here, made(i, {"same", std::to_string(i)}));
        co_await store.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p5 1.0=same 1.1=5");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 4), "p4 1.0=same 1.1=4");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 3), "none");
        // It forgets what stood behind the one that it has loaded.
        auto next = store_of(cluster);
        const stream::positions wanted{{"p", 4}};
        EXPECT_EQ(shown(co_await next.load(here, &wanted)), "p4 1.0=same 1.1=4");
        co_await next.store(here, made(6, {"same", "6"}));
        co_await next.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p6 1.0=same 1.1=6");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 4), "p4 1.0=same 1.1=4");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 5), "none");
    });
}

TEST(kafka_topic_store, sends_what_has_changed_in_pieces_of_the_size_that_it_is_told) {
    mock_cluster cluster;
    cluster.make_topic("states", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const std::string large(1'000, 'x');
        auto store = store_of(cluster, {.piece = 300});
        co_await store.store(here, made(1, {"small", large, ""}));
        EXPECT_EQ(co_await messages_of(here, cluster), 1 + 4 + 1);  // an empty one has no piece; the head has one
        co_await store.store(here, made(2, {"small", large, ""}));
        EXPECT_EQ(co_await messages_of(here, cluster), 6 + 1);
        co_await store.store(here, made(3, {"small", large + "y", ""}));
        EXPECT_EQ(co_await messages_of(here, cluster), 7 + 4 + 1);
        co_await store.store(here, made(4, {"small", "short", ""}));  // and tombstones of three pieces
        EXPECT_EQ(co_await messages_of(here, cluster), 12 + 1 + 3 + 1);
        co_await store.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p4 1.0=small 1.1=short 1.2=");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 3), "p3 1.0=small 1.1=" + large + "y 1.2=");
        auto next = store_of(cluster, {.piece = 7});  // another size, for the head, too
        EXPECT_EQ(shown(co_await next.load(here, nullptr)), "p4 1.0=small 1.1=short 1.2=");
        co_await next.store(here, made(5, {"small", large, ""}));
        co_await next.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p5 1.0=small 1.1=" + large + " 1.2=");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 4), "p4 1.0=small 1.1=short 1.2=");
    });
}

/// The messages of the partition as they are: key, value.
call<std::vector<std::pair<std::string, std::string>>> copies(environment&, const mock_cluster& cluster) {
    auto&& here = co_await coflux::context();
    const std::int64_t count = co_await messages_of(here, cluster);
    kafka::consumer in(cluster.member_of("copiers"));
    std::vector<kafka::position> from{{"states", 1, kafka::place::beginning}};
    co_await in.assign(here, std::move(from));
    std::vector<kafka::message> all;
    co_await polls_until(here, in, all, static_cast<std::size_t>(count));
    std::vector<std::pair<std::string, std::string>> texts;
    for (const kafka::message& m : all) texts.emplace_back(m.key(), m.value());
    all.clear();
    co_await in.close(here);
    co_return texts;
}

TEST(kafka_topic_store, has_the_one_before_wherever_a_process_was_killed) {
    mock_cluster cluster;
    cluster.make_topic("states", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const std::string large(200, 'x');
        auto store = store_of(cluster, {.piece = 100});
        for (int i = 1; i <= 3; ++i)
            co_await store.store(here, made(i, {large + std::to_string(i), std::to_string(i)}));
        const auto before = co_await messages_of(here, cluster);
        co_await store.store(here, made(4, {large + "4", "4"}));
        co_await store.close(here);
        const auto all = co_await copies(here, cluster);
        // Those brokers show what was not committed, as others do not. Without a head the torn checkpoint is none.
        const auto head = std::ranges::find_if(all.begin() + before, all.end(),
                                               [](const auto& m) { return m.first.starts_with("0/0/"); });
        const auto begins = static_cast<std::size_t>(head - all.begin());
        EXPECT_LT(begins + 1, all.size());  // in pieces
        for (std::size_t cut = static_cast<std::size_t>(before); cut <= all.size(); ++cut) {
            mock_cluster other;
            other.make_topic("states", 2);
            kafka::producer out(other.producer());
            for (std::size_t i = 0; i != cut; ++i)
                co_await out.send(here,
                                  {.topic = "states", .partition = 1, .key = all[i].first, .value = all[i].second});
            co_await out.flush(here);
            co_await out.close(here);
            const std::string last = cut == all.size() ? "4" : "3";
            const std::string whole = "p" + last + " 1.0=" + large + last + " 1.1=" + last;
            EXPECT_EQ(co_await loads(here, store_of(other, {.use_older = true})), whole) << cut;
            const std::string text = co_await loads(here, store_of(other));
            if (cut > begins && cut != all.size()) {
                expect_in(text, "the head of checkpoint 4 has not all of its pieces");
            } else {
                EXPECT_EQ(text, whole) << cut;
            }
        }
    });
}

TEST(kafka_topic_store, tells_what_was_changed_and_uses_the_one_before_if_it_is_told_so) {
    mock_cluster cluster;
    cluster.make_topic("states", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto store = store_of(cluster);
        co_await store.store(here, made(1, {"one"}));
        co_await store.store(here, made(2, {"two"}));
        co_await store.close(here);
        auto all = co_await copies(here, cluster);
        const auto state = std::ranges::find(all, std::string("1/0/1/0"), [](const auto& m) { return m.first; });
        EXPECT_NE(state, all.end());
        state->second.back() = 'x';
        kafka::producer out(cluster.producer());
        co_await out.send(here, {.topic = "states", .partition = 1, .key = state->first, .value = state->second});
        co_await out.flush(here);
        const std::string text = co_await loads(here, store_of(cluster));
        expect_in(text, "states [1] under 1/0/1/0");
        expect_in(text, "slot 0 of region 1");
        EXPECT_EQ(co_await loads(here, store_of(cluster, {.use_older = true})), "p1 1.0=one");
        EXPECT_EQ(co_await loads(here, store_of(cluster), 1), "p1 1.0=one");
        expect_in(co_await loads(here, kafka::topic_store(transactional(cluster), {"states", 1}, "others")),
                  "of the job \"counts\"");
        // Nor is a partition whose checkpoints are all bad, or have no whole head, taken for an empty one.
        const auto other = std::ranges::find(all, std::string("1/0/0/0"), [](const auto& m) { return m.first; });
        co_await out.send(here, {.topic = "states", .partition = 1, .key = other->first});
        co_await out.flush(here);
        expect_in(co_await loads(here, store_of(cluster, {.use_older = true})), "is not the one that was stored");
        const auto head = std::ranges::find(all, std::string("0/0/0/0"), [](const auto& m) { return m.first; });
        head->second.resize(12);  // its number, and four bytes
        co_await out.send(here, {.topic = "states", .partition = 1, .key = head->first, .value = head->second});
        co_await out.send(here, {.topic = "states", .partition = 1, .key = "0/0/1/0"});
        co_await out.flush(here);
        expect_in(co_await loads(here, store_of(cluster)), "the head of checkpoint 1 has not all of its pieces");
        expect_in(co_await loads(here, store_of(cluster), 1), "the head of checkpoint 1 has not all of its pieces");
        co_await out.close(here);
    });
}

TEST(kafka_topic_store, takes_no_older_checkpoint_for_the_last_where_its_head_has_lost_a_piece) {
    for (const char* const piece : {"0", "1"}) {
        mock_cluster cluster;
        cluster.make_topic("states", 2);
        on_worker([&](environment&) -> call<void> {
            auto&& here = co_await coflux::context();
            auto store = store_of(cluster, {.piece = 40});
            co_await store.store(here, made(1, {"one"}));
            co_await store.store(here, made(2, {"two"}));
            co_await store.close(here);
            EXPECT_EQ(co_await loads(here, store_of(cluster)), "p2 1.0=two");
            kafka::producer out(cluster.producer());
            const std::string key = std::string("0/0/1/") + piece;
            co_await out.send(here, {.topic = "states", .partition = 1, .key = key});
            co_await out.flush(here);
            co_await out.close(here);
            const std::string text = co_await loads(here, store_of(cluster));
            expect_in(text, "states [1] under 0/0/1/0");
            expect_in(text, "the head of checkpoint 2 has not all of its pieces");
            EXPECT_EQ(co_await loads(here, store_of(cluster, {.use_older = true})), "p1 1.0=one");
            EXPECT_EQ(co_await loads(here, store_of(cluster), 1), "p1 1.0=one");
            expect_in(co_await loads(here, store_of(cluster), 2), "the head of checkpoint 2 has not all of its pieces");
        });
    }
}

/// Counts each number: its state follows it.
struct count {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};

TEST(kafka_topic_store, lets_a_job_go_on_in_another_process) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    cluster.make_topic("states", 2);
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer first(cluster.producer());
        std::map<int, std::int64_t> last;
        for (int life = 0; life != 3; ++life) {
            co_await sends_numbers(here, first, "numbers", 10);
            kafka::partition_source in(cluster.member_of("counts"), {{"numbers", 0}});
            auto store = store_of(cluster);
            stream::job_control control;
            std::size_t seen = 0;
            const auto counts = [&](count& c, int n, const auto& emit) { emit(std::pair(n, ++c.n)); };
            const auto notes = [&](const std::pair<int, std::int64_t>& counted) {
                last[counted.first] = counted.second;
                if (++seen == 10) control.drain();
            };
            (void)co_await stream::run(here,
                                       stream::from(in) | kafka::decode(number_of) | stream::by_key(std::identity()) |
                                           stream::fold<count, std::pair<int, std::int64_t>>(counts) |
                                           stream::to(stream::for_each(notes)),
                                       stream::job{.workers = 2, .slots = 8, .state = store, .control = &control});
            co_await in.close(here);
            co_await store.close(here);
            for (int n = 0; n != 10; ++n) EXPECT_EQ(last[n], life + 1) << n;
        }
        co_await first.close(here);
    });
}

TEST(kafka_topic_store, puts_the_state_into_the_transaction_of_a_sink) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    cluster.make_topic("states", 2);
    cluster.make_topic("outputs", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("counts"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        kafka::topic_store store(out, {"states", 1}, "counts");
        (void)co_await out.committed(here);
        for (int i = 1; i <= 3; ++i) {
            co_await out.begin(here);
            co_await store.store(here, made(i, {std::to_string(i)}));
            co_await out.commit(here, {});
        }
        co_await store.close(here);  // it has no client of its own
        co_await out.close(here);
        co_await in.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p3 1.0=3");
    });
}

TEST(kafka_topic_store, refuses_to_begin_anew_over_the_state_of_positions_that_the_group_has_lost) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    cluster.make_topic("states", 2);
    cluster.make_topic("outputs", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const auto stores = [&](environment&, const checkpoint& c) -> call<std::string> {
            auto&& self = co_await coflux::context();
            kafka::partition_source in(cluster.member_of("counts"), {{"numbers", 0}});
            kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                          kafka::keyed(text_of_number, text_of_number));
            kafka::topic_store store(out, {"states", 1}, "counts");
            EXPECT_FALSE((co_await out.committed(self)).has_value());
            co_await out.begin(self);
            std::string text;
            try {
                co_await store.store(self, c);
                co_await out.commit(self, {});
            } catch (const stream::corrupt_state& e) {
                text = e.what();
            }
            if (!text.empty()) co_await out.abort(self);
            co_await out.close(self);
            co_await in.close(self);
            co_return text;
        };
        EXPECT_EQ(co_await stores(here, {4, {}, {{1, 0, bytes_of("none read")}}}), "");
        EXPECT_EQ(co_await stores(here, {4, {{"p", 7}}, {}}), "");  // that of a flow without state
        EXPECT_EQ(co_await stores(here, made(8, {"8"})), "");
        const std::string text = co_await stores(here, made(1, {"1"}));
        expect_in(text, "states [1] has a checkpoint of the job \"counts\" that goes on with p from 8");
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p8 1.0=8");
    });
}

TEST(kafka_topic_store, stores_again_after_a_store_that_has_failed) {
    mock_cluster cluster;
    cluster.make_topic("states", 2);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        auto store = store_of(cluster, {.piece = std::size_t{2} << 20});
        std::string error;
        try {
            co_await store.store(here, made(1, {std::string(std::size_t{2} << 20, 'x')}));
        } catch (const kafka::error& e) {
            EXPECT_FALSE(e.is_fatal());
            error = e.name();
        }
        EXPECT_EQ(error, "MSG_SIZE_TOO_LARGE");
        co_await store.store(here, made(2, {"small"}));
        co_await store.close(here);
        EXPECT_EQ(co_await loads(here, store_of(cluster)), "p2 1.0=small");
    });
}

TEST(kafka_topic_store, refuses_a_producer_without_an_id_no_job_and_empty_pieces) {
    const mock_cluster cluster;
    EXPECT_THROW(kafka::topic_store(cluster.producer(), {"states", 0}, "counts"), std::invalid_argument);
    EXPECT_THROW(kafka::topic_store(transactional(cluster), {"states", 0}, ""), std::invalid_argument);
    EXPECT_THROW(store_of(cluster, {.piece = 0}), std::invalid_argument);
}

}  // namespace
