// The laws of a state_store: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/state_store_suite.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/stream/folder_store.hpp>
#include <coflux/stream/memory.hpp>

#include "subjects.hpp"
#include "support/temporary_folder.hpp"

#ifdef COFLUX_TEST_ROCKSDB
#    include <coflux/rocksdb/database.hpp>
#endif

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_state_store {

namespace stream = coflux::stream;
using coflux::call;
using coflux::environment;
using coflux_test::fresh;
using stream::checkpoint;
using stream::positions;

/// A store of a folder, and the processes that use it.
template <typename Store>
struct in_a_folder {
    std::unique_ptr<coflux_test::temporary_folder> folder = std::make_unique<coflux_test::temporary_folder>();
    std::optional<Store> store;

    in_a_folder() { become("orders"); }
    Store& get() noexcept { return *store; }
    void restart() { become("orders"); }
    void restart_as_another_job() { become("bids"); }

private:
    void become(const std::string& job) {
        store.reset();
        std::filesystem::create_directories(folder->path("state"));
        store.emplace(folder->path("state"), job);
    }
};
/// Its folder is away while it fails.
struct folder_of_checkpoints : in_a_folder<stream::folder_store> {
    void fail(bool now) const {
        const std::string from = folder->path(now ? "state" : "away");
        std::filesystem::rename(from, folder->path(now ? "away" : "state"));
    }
};
/// The processes do not change, as where a job is run again after an error.
struct same_folder_store {
    std::unique_ptr<coflux_test::temporary_folder> folder = std::make_unique<coflux_test::temporary_folder>();
    stream::folder_store store{folder->path(), "orders", {.keep = 4, .full_every = 3}};

    stream::folder_store& get() noexcept { return store; }
};

}  // namespace conformance_of_state_store

namespace coflux::testing {

using namespace conformance_of_state_store;
using our_state_stores =
    ::testing::Types<fresh<stream::memory_store>, fresh<folder_of_checkpoints>, fresh<same_folder_store>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, state_store_conformance, our_state_stores);
#ifdef COFLUX_TEST_ROCKSDB
INSTANTIATE_TYPED_TEST_SUITE_P(rocksdb, state_store_conformance, fresh<in_a_folder<coflux::rocksdb::database>>);
#endif

}  // namespace coflux::testing

namespace conformance_of_state_store {

/// As a user would write it, with a fault or with none.
enum class fault {
    none,
    has_one_at_first,
    keeps_one,
    ignores_positions,
    forgets_nothing,
    loses_small_states,
    writes_in_place,
    waits_in_place,
    takes_any_job,
    never_fails,
    never_returns
};
template <fault Fault>
class foreign_store {
public:
    call<void> store(environment&, const checkpoint& c) {
        auto& here = co_await coflux::context();
        if (Fault == fault::never_returns) co_await never_.wait();
        if (fails_ && Fault == fault::never_fails) co_return;
        if (fails_) throw std::runtime_error("the disk is full");
        if (Fault == fault::writes_in_place && !kept_.empty()) kept_.back().second = {};
        co_await writes(here);
        if (Fault == fault::waits_in_place) kept_.clear();
        co_await coflux::yield();
        kept_.emplace_back(job_, c);
        auto& states = kept_.back().second.states;
        if (Fault == fault::loses_small_states) std::erase_if(states, [](const auto& s) { return s.bytes.empty(); });
        if (Fault == fault::keeps_one) kept_.erase(kept_.begin(), kept_.end() - 1);
    }
    call<std::optional<checkpoint>> load(environment&, const positions* wanted) {
        if (Fault == fault::ignores_positions) wanted = nullptr;
        for (std::size_t i = kept_.size(); i-- != 0;) {
            if (wanted != nullptr && kept_[i].second.at != *wanted) continue;
            if (kept_[i].first != job_ && Fault != fault::takes_any_job) throw std::runtime_error("of another job");
            if (Fault != fault::forgets_nothing) kept_.resize(i + 1);
            co_return kept_[i].second;
        }
        if (Fault == fault::has_one_at_first) co_return checkpoint{4, {}, {}};
        co_return std::nullopt;
    }

    foreign_store& get() noexcept { return *this; }
    void restart() { job_ = "orders"; }
    void restart_as_another_job() { job_ = "bids"; }
    void fail(bool now) noexcept { fails_ = now; }

private:
    static call<void> writes(environment&) { co_await coflux::yield(); }

    std::string job_ = "orders";
    std::vector<std::pair<std::string, checkpoint>> kept_;
    coflux::manual_reset_event never_;
    bool fails_ = false;
};

template <fault Fault>
std::string broken_by() {
    coflux::testing::conformance_options options;
    options.patience = std::chrono::milliseconds(50);
    std::string laws;
    std::string last;
    for (const auto& v : coflux::testing::check_state_store(fresh<foreign_store<Fault>>{}, options)) {
        if (v.law != last) laws += v.law + ' ';
        last = v.law;
    }
    return laws;
}

TEST(state_store_laws, find_nothing_in_a_sound_store) {
    EXPECT_EQ(broken_by<fault::none>(), "");
}
TEST(state_store_laws, find_out_one_that_has_a_checkpoint_at_first) {
    EXPECT_NE(broken_by<fault::has_one_at_first>().find("has_nothing_at_first"), std::string::npos);
}
TEST(state_store_laws, find_out_one_that_keeps_the_last_alone_and_does_not_say_so) {
    const std::string laws = broken_by<fault::keeps_one>();
    EXPECT_NE(laws.find("loads_that_of_the_positions"), std::string::npos) << laws;
    EXPECT_NE(laws.find("keeps_the_two_last"), std::string::npos) << laws;
}
TEST(state_store_laws, find_out_one_that_ignores_the_positions) {
    const std::string laws = broken_by<fault::ignores_positions>();
    EXPECT_NE(laws.find("loads_that_of_the_positions"), std::string::npos) << laws;
}
TEST(state_store_laws, find_out_one_that_forgets_nothing) {
    const std::string laws = broken_by<fault::forgets_nothing>();
    EXPECT_EQ(laws, "forgets_what_is_behind ");
}
TEST(state_store_laws, find_out_one_that_loses_a_state) {
    const std::string laws = broken_by<fault::loses_small_states>();
    EXPECT_NE(laws.find("loads_the_last_one"), std::string::npos) << laws;
}
TEST(state_store_laws, find_out_one_that_writes_over_the_checkpoint_before) {
    const std::string laws = broken_by<fault::writes_in_place>();
    EXPECT_NE(laws.find("keeps_the_one_before_through_a_failure"), std::string::npos) << laws;
}
TEST(state_store_laws, find_out_one_that_a_stop_leaves_empty) {
    const std::string laws = broken_by<fault::waits_in_place>();
    EXPECT_NE(laws.find("keeps_the_one_before_through_a_stop"), std::string::npos) << laws;
}
TEST(state_store_laws, find_out_one_that_takes_the_checkpoint_of_another_job) {
    EXPECT_EQ(broken_by<fault::takes_any_job>(), "refuses_that_of_another_job ");
}
TEST(state_store_laws, find_out_one_that_hides_a_failure) {
    EXPECT_EQ(broken_by<fault::never_fails>(), "keeps_the_one_before_through_a_failure ");
}
TEST(state_store_laws, find_out_one_whose_store_never_returns) {
    EXPECT_NE(broken_by<fault::never_returns>().find("loads_the_last_one"), std::string::npos);
}

}  // namespace conformance_of_state_store
