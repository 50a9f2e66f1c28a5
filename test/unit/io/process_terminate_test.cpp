// terminate(): SIGTERM, and SIGKILL after a grace; process groups.
#include <coflux/io/process.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::exit_status;
using coflux::process;
using coflux::process_options;
using coflux::standard_stream;
using coflux_test::all_of;
using coflux_test::bytes_of;
using coflux_test::is_gone;
using coflux_test::on_a_worker;
using coflux_test::shell;
using coflux_test::words;
using worker = coflux::worker_executor;
using task = coflux_test::worker_task;

/// A shell that has said that its traps are set.
coflux::call<process> ready_shell(environment&, std::string script, process_options options) {
    options.output = standard_stream::pipe();
    process p = co_await process::spawn(shell(script), options);
    std::string line(2, ' ');
    co_await p.standard_output().read_exactly(bytes_of(line));
    co_return p;
}

task ends_in_time(environment&) {
    auto&& here = co_await coflux::context();
    process plain = co_await process::spawn(words{"sleep", "1000"});
    EXPECT_EQ((co_await plain.terminate(here, 1h)).signal(), SIGTERM);
    EXPECT_EQ((co_await plain.terminate(here, 1h)).signal(), SIGTERM);  // again: it is told
    process kind = co_await ready_shell(here, "trap 'exit 3' TERM; echo x; while :; do sleep 0.01; done", {});
    EXPECT_EQ((co_await kind.terminate(here, 1h)).code(), 3);
}
TEST(process_terminate, ends_a_child_by_sigterm_and_lets_it_end_by_itself) {
    on_a_worker(ends_in_time);
}

task must_be_killed(environment&) {
    auto&& here = co_await coflux::context();
    for (const auto grace : {20ms, 0ms, -1ms}) {
        process p = co_await ready_shell(here, "trap '' TERM; echo x; while :; do sleep 0.01; done", {});
        EXPECT_EQ((co_await p.terminate(here, grace)).signal(), SIGKILL);
    }
}
TEST(process_terminate, kills_a_child_that_runs_on_after_the_grace) {
    on_a_worker(must_be_killed);
}

coflux::fork<void, worker> asks(environment&, process p) {
    auto&& here = co_await coflux::context();
    (void)co_await p.terminate(here, 1h);
}
task is_stopped_meanwhile(environment&) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    process p = co_await ready_shell(here, "trap '' TERM; echo x; while :; do sleep 0.01; done", {});
    const int pid = p.id();
    auto asker = asks(inside, std::move(p));
    co_await coflux::this_coroutine::yield();
    inside.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(asker))).is_stopped());
    co_await inside.join();
    EXPECT_TRUE(co_await is_gone(here, pid));
}
TEST(process_terminate, that_is_stopped_kills_the_child_with_its_process) {
    on_a_worker(is_stopped_meanwhile);
}

// --- groups ----------------------------------------------------------------------------------------------------------

task leads_a_group(environment&) {
    process alone = co_await process::spawn(words{"sleep", "1000"}, {.leads_group = true});
    EXPECT_EQ(::getpgid(alone.id()), alone.id());
    process beside = co_await process::spawn(words{"sleep", "1000"});
    EXPECT_EQ(::getpgid(beside.id()), ::getpgrp());
    for (process* p : {&alone, &beside}) {
        EXPECT_TRUE(p->kill(SIGKILL));
        EXPECT_EQ((co_await p->wait()).signal(), SIGKILL);
        EXPECT_FALSE(p->kill(SIGKILL));
    }
}
TEST(process_group, is_the_childs_own_where_that_is_asked) {
    on_a_worker(leads_a_group);
}

// The output of a shell is at its end when all that it has started are gone, too.

task ends_a_group(environment&) {
    auto&& here = co_await coflux::context();
    // The shell waits for its child, which SIGTERM ends, too.
    process p =
        co_await ready_shell(here, "sleep 1000 & trap 'wait; exit 3' TERM; echo x; wait", {.leads_group = true});
    EXPECT_EQ((co_await p.terminate(here, 1h)).code(), 3);
    EXPECT_EQ(co_await all_of(here, p.standard_output()), "");
}
TEST(process_group, gets_sigterm_with_its_leader) {
    on_a_worker(ends_a_group);
}

task leaves_a_rest(environment&) {
    auto&& here = co_await coflux::context();
    // The shell ends by itself; what it has started ignores SIGTERM.
    process p = co_await ready_shell(here, "trap '' TERM; sleep 1000 & echo x; exec sleep 0.01", {.leads_group = true});
    EXPECT_TRUE((co_await p.terminate(here, 1h)).is_success());
    EXPECT_EQ(co_await all_of(here, p.standard_output()), "");
}
TEST(process_group, is_killed_when_its_leader_has_ended) {
    on_a_worker(leaves_a_rest);
}

task drops_a_group(environment&) {
    auto&& here = co_await coflux::context();
    coflux::child_reader output;
    {
        process p = co_await ready_shell(here, "sleep 1000 & echo x; exec sleep 1000", {.leads_group = true});
        output = std::move(p.standard_output());
    }
    EXPECT_EQ(co_await all_of(here, output), "");
}
TEST(process_group, dies_with_the_process_that_is_dropped) {
    on_a_worker(drops_a_group);
}

}  // namespace
