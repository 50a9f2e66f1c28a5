#include "linearizability/checker.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "linearizability/drawing.hpp"
#include "linearizability/history.hpp"
#include "linearizability/objects/auto_reset_event_specification.hpp"
#include "linearizability/objects/channel_specification.hpp"
#include "linearizability/objects/mutex_specification.hpp"
#include "linearizability/objects/semaphore_specification.hpp"
#include "linearizability/objects/shared_mutex_specification.hpp"

namespace {

using namespace coflux_test::linearizability;
using mutex = mutex_specification;
using shared_mutex = shared_mutex_specification;
using semaphore = semaphore_specification;
using event = auto_reset_event_specification;
using channel = channel_specification;

/// An operation of an actor in the interval from `called` to `returned`; 1 is true, and the result of what returns
/// nothing.
operation op(unsigned actor, unsigned kind, moment called, moment returned, unsigned result = 1, unsigned argument = 0,
             unsigned value = 0) {
    operation o;
    o.actor = static_cast<std::uint8_t>(actor);
    o.kind = static_cast<std::uint8_t>(kind);
    o.called = called;
    o.returned = returned;
    o.result = static_cast<std::uint8_t>(result);
    o.argument = static_cast<std::uint8_t>(argument);
    o.value = static_cast<std::uint8_t>(value);
    return o;
}
operation stopped(operation o, moment stop) {
    o.stop = stop;
    o.stopped = true;
    o.result = 0;
    return o;
}
operation sends(unsigned actor, moment called, moment returned, unsigned value, unsigned result = 1) {
    return op(actor, channel::send, called, returned, result, 0, value);
}
operation receives(unsigned actor, moment called, moment returned, unsigned value) {
    return op(actor, channel::receive, called, returned, value);
}

template <typename S>
bool linearizable(const S& s, const history& h) {
    return checker<S>().linearizable(s, h);
}

const channel rendezvous{{0, 0}};
const channel one_slot{{1, 0}};
const channel two_slots{{2, 0}};

TEST(checker, takes_an_empty_history) {
    EXPECT_TRUE(linearizable(mutex{}, {}));
}

TEST(checker, takes_a_lock_that_waits_for_the_unlock) {
    EXPECT_TRUE(
        linearizable(mutex{}, {op(0, mutex::lock, 0, 1), op(1, mutex::lock, 2, 5), op(0, mutex::unlock, 3, 4)}));
}

TEST(checker, refuses_two_that_have_the_lock) {
    EXPECT_FALSE(
        linearizable(mutex{}, {op(0, mutex::lock, 0, 1), op(1, mutex::lock, 2, 3), op(0, mutex::unlock, 4, 5)}));
    EXPECT_FALSE(linearizable(mutex{}, {op(0, mutex::lock, 0, 1), op(1, mutex::try_lock, 2, 3, 1)}));
}

TEST(checker, takes_operations_that_overlap_in_either_order) {
    EXPECT_TRUE(linearizable(mutex{}, {op(0, mutex::try_lock, 0, 2, 0), op(1, mutex::try_lock, 1, 3, 1)}));
    EXPECT_TRUE(linearizable(mutex{}, {op(0, mutex::try_lock, 0, 2, 1), op(1, mutex::try_lock, 1, 3, 0)}));
    EXPECT_FALSE(linearizable(mutex{}, {op(0, mutex::try_lock, 0, 2, 0), op(1, mutex::try_lock, 1, 3, 0)}));
    EXPECT_FALSE(linearizable(mutex{}, {op(0, mutex::try_lock, 0, 1, 0), op(1, mutex::try_lock, 2, 3, 1)}));
}

TEST(checker, takes_a_failed_attempt_as_a_sign_that_one_waits) {
    const semaphore two{2};
    const operation waits = op(1, semaphore::acquire, 0, 9, 1, 3);
    const operation shows = op(3, semaphore::try_acquire, 1, 2, 0, 1);
    EXPECT_TRUE(linearizable(two, {waits, shows, op(2, semaphore::release, 5, 6, 1, 1)}));
    EXPECT_FALSE(linearizable(
        two, {waits, shows, op(0, semaphore::acquire, 3, 4, 1, 1), op(2, semaphore::release, 5, 6, 1, 2)}));
}

TEST(checker, demands_the_order_of_those_that_were_seen_in_the_queue) {
    const operation held = op(0, mutex::lock, 0, 1);
    const operation freed = op(0, mutex::unlock, 6, 7);
    operation first = op(1, mutex::lock, 2, 11);
    operation second = op(2, mutex::lock, 4, 8);
    const history h{held, first, second, freed, op(2, mutex::unlock, 9, 10)};
    EXPECT_TRUE(linearizable(mutex{}, h)) << "actor 1 may have been slow to come to the queue";
    history seen = h;
    seen[1].queued = 3;
    EXPECT_FALSE(linearizable(mutex{}, seen));
    seen[1].queued = 5;
    EXPECT_TRUE(linearizable(mutex{}, seen)) << "actor 2 may have come before it";
}

TEST(checker, finds_a_wake_up_that_a_stop_had_to_replace) {
    operation waits = stopped(op(1, mutex::lock, 2, 9), 8);
    const history h{op(0, mutex::lock, 0, 1), waits, op(0, mutex::unlock, 5, 6)};
    EXPECT_TRUE(linearizable(mutex{}, h)) << "it may not have come to the queue before the stop";
    history seen = h;
    seen[1].queued = 3;
    EXPECT_FALSE(linearizable(mutex{}, seen));
    seen[1].stop = 4;
    EXPECT_TRUE(linearizable(mutex{}, seen)) << "the stop may have come before the unlock";
}

TEST(checker, takes_a_stopped_wait_without_effect) {
    EXPECT_TRUE(linearizable(mutex{}, {op(0, mutex::lock, 0, 1), stopped(op(1, mutex::lock, 2, 7), 5),
                                       op(0, mutex::unlock, 8, 9), op(2, mutex::try_lock, 10, 11, 1)}));
}

TEST(checker, refuses_a_stop_of_one_that_had_been_served) {
    EXPECT_TRUE(linearizable(mutex{}, {op(0, mutex::lock, 0, 1), stopped(op(1, mutex::lock, 2, 9), 4),
                                       op(0, mutex::unlock, 5, 6), op(2, mutex::try_lock, 7, 8, 1)}));
    // The lock was seen to be taken after the unlock and before the stop: only by the one that waited.
    EXPECT_FALSE(linearizable(mutex{}, {op(0, mutex::lock, 0, 1), stopped(op(1, mutex::lock, 2, 9), 8),
                                        op(0, mutex::unlock, 3, 4), op(2, mutex::try_lock, 5, 6, 0)}));
}

TEST(checker, lets_those_behind_a_stopped_request_for_many_move_up) {
    const semaphore one{1};
    const history h{stopped(op(0, semaphore::acquire, 0, 8, 1, 3), 5), op(1, semaphore::try_acquire, 1, 2, 0, 1),
                    op(2, semaphore::acquire, 3, 7, 1, 1)};
    EXPECT_TRUE(linearizable(one, h));
    history early = h;
    early[2].returned = 4;
    EXPECT_FALSE(linearizable(one, early)) << "it has overtaken";
}

TEST(checker, keeps_readers_behind_a_writer_that_waits) {
    const operation reads = op(0, shared_mutex::lock_shared, 0, 1);
    const operation writes = op(1, shared_mutex::lock, 2, 9);
    const operation looks = op(2, shared_mutex::try_lock_shared, 3, 4, 0);
    const operation ends = op(0, shared_mutex::unlock_shared, 7, 8);
    EXPECT_TRUE(linearizable(shared_mutex{}, {reads, writes, looks, ends}));
    EXPECT_FALSE(linearizable(shared_mutex{}, {reads, writes, looks, op(2, shared_mutex::lock_shared, 5, 6), ends}));
}

TEST(checker, counts_one_set_of_an_event_for_one_wait) {
    const operation sets = op(0, event::set, 0, 1);
    EXPECT_TRUE(linearizable(event{}, {sets, op(1, event::wait, 2, 3)}));
    EXPECT_TRUE(
        linearizable(event{}, {op(1, event::wait, 0, 3), op(0, event::set, 1, 2), op(2, event::try_wait, 4, 5, 0)}));
    EXPECT_FALSE(linearizable(event{}, {sets, op(1, event::wait, 2, 3), op(2, event::wait, 4, 5)}));
    EXPECT_FALSE(linearizable(event{}, {sets, op(1, event::try_wait, 2, 3, 0)}));
}

TEST(checker, demands_the_order_of_the_sends) {
    EXPECT_TRUE(
        linearizable(two_slots, {sends(0, 0, 1, 1), sends(0, 2, 3, 2), receives(1, 4, 5, 1), receives(1, 6, 7, 2)}));
    EXPECT_FALSE(
        linearizable(two_slots, {sends(0, 0, 1, 1), sends(0, 2, 3, 2), receives(1, 4, 5, 2), receives(1, 6, 7, 1)}));
}

TEST(checker, refuses_a_value_that_was_lost_doubled_or_invented) {
    const operation closes = op(0, channel::close, 2, 3);
    EXPECT_TRUE(linearizable(one_slot, {sends(0, 0, 1, 1), closes, receives(1, 4, 5, 1), receives(1, 6, 7, 0)}));
    EXPECT_FALSE(linearizable(one_slot, {sends(0, 0, 1, 1), closes, receives(1, 4, 5, 0)}));
    EXPECT_FALSE(linearizable(one_slot, {sends(0, 0, 1, 1), receives(1, 4, 5, 1), closes, receives(1, 6, 7, 1)}));
    EXPECT_FALSE(linearizable(one_slot, {receives(1, 4, 5, 7), closes}));
}

TEST(checker, makes_a_sender_wait_for_a_place) {
    EXPECT_TRUE(linearizable(one_slot, {sends(0, 0, 1, 1), sends(0, 2, 5, 2), receives(1, 3, 4, 1)}));
    EXPECT_FALSE(linearizable(one_slot, {sends(0, 0, 1, 1), sends(0, 2, 3, 2), receives(1, 4, 5, 1)}));
    EXPECT_FALSE(linearizable(rendezvous, {sends(0, 0, 1, 1), receives(1, 2, 3, 1)}));
    EXPECT_TRUE(linearizable(rendezvous, {sends(0, 0, 3, 1), receives(1, 1, 2, 1)}));
}

TEST(checker, keeps_the_place_of_a_permit) {
    const operation reserves = op(0, channel::reserve, 0, 1);
    const operation tries = op(1, channel::try_send, 2, 3, 0, 0, 9);
    const operation closes = op(1, channel::close, 4, 5);
    const operation by_permit = op(0, channel::permit_send, 8, 9, 1, 0, 1);
    EXPECT_TRUE(linearizable(one_slot, {reserves, tries, closes, receives(2, 6, 10, 1), by_permit}));
    EXPECT_FALSE(linearizable(one_slot, {reserves, tries, closes, receives(2, 6, 7, 0), by_permit}))
        << "the channel is not drained while a permit is out";
    EXPECT_TRUE(linearizable(one_slot, {reserves, closes, receives(2, 6, 10, 0), op(0, channel::permit_dies, 8, 9)}));
}

TEST(checker, lets_a_close_end_those_that_wait) {
    EXPECT_TRUE(linearizable(rendezvous, {sends(0, 0, 4, 1, 0), op(1, channel::close, 1, 2)}));
    EXPECT_FALSE(linearizable(rendezvous, {sends(0, 0, 1, 1, 0), op(1, channel::close, 2, 3)}));
}

TEST(checker, gives_a_stopped_receive_no_value) {
    const operation waits = op(1, channel::receive, 0, 9);
    EXPECT_TRUE(linearizable(one_slot, {stopped(waits, 8), sends(0, 10, 11, 1), receives(2, 12, 13, 1)}));
    EXPECT_FALSE(
        linearizable(one_slot, {stopped(waits, 4), sends(0, 10, 11, 1), op(2, channel::try_receive, 12, 13, 0)}));
}

TEST(checker, lets_exactly_one_case_of_a_select_win) {
    const channel both{{1, 1}};
    const auto to = [](unsigned where, moment called, unsigned value) {
        return op(0, channel::send, called, called + 1, 1, where, value);
    };
    const auto from = [](unsigned where, moment called, unsigned value) {
        return op(2, channel::try_receive, called, called + 1, value, where);
    };
    const auto selects = [](moment called, moment returned, unsigned won, unsigned value) {
        return op(1, channel::select, called, returned, won << 6U | value);
    };
    EXPECT_TRUE(linearizable(both, {to(0, 0, 1), to(1, 2, 2), selects(4, 5, 1, 2), from(0, 6, 1)}));
    EXPECT_TRUE(linearizable(both, {to(0, 0, 1), to(1, 2, 2), selects(4, 5, 0, 1), from(1, 6, 2)}));
    EXPECT_FALSE(linearizable(both, {to(0, 0, 1), to(1, 2, 2), selects(4, 5, 0, 1), from(1, 6, 0)}))
        << "the loser has taken the value";
    EXPECT_TRUE(linearizable(both, {selects(0, 9, 1, 2), to(1, 2, 2), to(0, 4, 1), from(0, 6, 1)}));
    EXPECT_FALSE(
        linearizable(both, {op(1, channel::select, 0, 1, channel::otherwise_won, channel::with_otherwise), to(0, 2, 1),
                            op(1, channel::select, 4, 5, channel::otherwise_won, channel::with_otherwise)}));
}

TEST(checker, lets_two_closes_at_the_same_time_share_the_selects) {
    const auto selects = [](unsigned actor, moment called, unsigned won) {
        operation o = op(actor, channel::select, called, called + 20, won << 6U);
        o.queued = called + 1;
        return o;
    };
    const auto closes = [](unsigned actor, moment called, moment returned, unsigned where) {
        return op(actor, channel::close, called, returned, 1, where);
    };
    EXPECT_TRUE(linearizable(rendezvous, {selects(0, 0, 0), selects(1, 2, 1), closes(2, 4, 6, 0), closes(3, 5, 7, 1)}));
    EXPECT_FALSE(
        linearizable(rendezvous, {selects(0, 0, 0), selects(1, 2, 1), closes(2, 4, 5, 0), closes(3, 6, 7, 1)}));
    EXPECT_TRUE(linearizable(rendezvous, {selects(0, 0, 0), selects(1, 2, 0), closes(2, 4, 5, 0), closes(3, 6, 7, 1)}));
    operation lost = stopped(selects(0, 0, 0), 8);
    EXPECT_FALSE(linearizable(rendezvous, {lost, closes(2, 4, 5, 0)})) << "the close had to wake it";
}

TEST(checker, takes_what_has_not_returned_with_or_without_its_effect) {
    const operation pending = op(0, channel::send, 0, never, 0, 0, 1);
    EXPECT_TRUE(linearizable(one_slot, {pending, receives(1, 1, 2, 1)}));
    EXPECT_TRUE(linearizable(one_slot, {pending, op(1, channel::try_receive, 1, 2, 0)}));
    EXPECT_FALSE(linearizable(one_slot, {pending, receives(1, 1, 2, 1), receives(1, 3, 4, 1)}));
}

TEST(checker, finds_the_shortest_beginning_that_fails) {
    const history h{sends(0, 0, 1, 1), sends(0, 2, 3, 2), receives(1, 4, 5, 2), receives(1, 6, 7, 1)};
    const history shortest = shortest_failing(two_slots, h);
    ASSERT_EQ(shortest.size(), 3U);
    EXPECT_FALSE(linearizable(two_slots, shortest));
    EXPECT_EQ(draw(two_slots, shortest), "  actor 0  a.send(1) -> 1    []\n"
                                         "  actor 0  a.send(2) -> 1      []\n"
                                         "  actor 1  a.receive() -> 2      []\n");
}

TEST(checker, draws_what_waits_and_what_was_stopped) {
    const history h{op(0, mutex::lock, 0, 1), stopped(op(1, mutex::lock, 2, 5), 4), op(2, mutex::lock, 3, never)};
    EXPECT_EQ(draw(mutex{}, h), "  actor 0  lock()           []\n"
                                "  actor 1  lock(): stopped    [-x]\n"
                                "  actor 2  lock(): waits       [-->\n");
}

}  // namespace
