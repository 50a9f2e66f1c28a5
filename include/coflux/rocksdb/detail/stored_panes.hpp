// stored_panes: the panes of one slot of a window(), of which a database has all and the memory some.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <coflux/rocksdb/detail/stored_states.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/outside_state.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::rocksdb::detail {

/// The states of a slot by pane and key. Those of a pane are a range of the database.
template <typename Key, typename State>
class slot_panes final : public slot_states<std::pair<std::int64_t, Key>, State> {
    using base = slot_states<std::pair<std::int64_t, Key>, State>;
    using typename base::cell;

public:
    using merge = std::function<void(State&, const State&)>;
    using base::base;

    void want_window(stream::detail::wanted_states& all, std::vector<std::int64_t> panes, merge join) {
        if (!this->files_.is_named()) this->files_.name(all.slot);
        all.from.push_back(this);
        panes_ = std::move(panes);
        merge_ = std::move(join);
    }
    void read() override {
        base::read();
        if (merge_ != nullptr) read_window();
    }
    /// Calls `use(key, state)` with each key of the window that was read.
    template <typename Use>
    void take_window(Use use) {
        for (auto& [key, state] : window_) use(key, std::move(state));
        window_ = {};
    }
    /// No value of it will come any more.
    void forget_pane(std::int64_t number) {
        for (std::size_t i = 0; i != this->cells_.size();) {
            const auto& [pane, key] = (this->cells_.begin() + static_cast<std::ptrdiff_t>(i))->key;
            if (pane == number) {
                this->cells_.erase(std::pair(pane, key));  // the last one takes its place
            } else {
                ++i;
            }
        }
        this->add_removal(prefix_of(number));
    }

private:
    [[nodiscard]] std::vector<std::byte> prefix_of(std::int64_t pane) const {
        const auto slot = this->files_.prefix();
        std::vector<std::byte> bytes(slot.begin(), slot.end());
        stream::state_writer out(bytes);
        out(pane);
        return bytes;
    }
    // Pane by pane, in the order of time. A state in memory goes before the one of the database.
    void read_window() {
        const merge join = std::exchange(merge_, nullptr);
        std::vector<std::pair<std::int64_t, std::size_t>> in_memory;
        for (std::size_t i = 0; i != this->cells_.size(); ++i) {
            const auto& [key, c] = *(this->cells_.begin() + static_cast<std::ptrdiff_t>(i));
            if (c.is_stored || c.has_changed) in_memory.emplace_back(key.first, i);
        }
        std::ranges::sort(in_memory);
        for (const std::int64_t pane : panes_) {
            for (const auto& [of, i] :
                 std::ranges::equal_range(in_memory, pane, {}, &std::pair<std::int64_t, std::size_t>::first)) {
                const auto& [key, c] = *(this->cells_.begin() + static_cast<std::ptrdiff_t>(i));
                join(window_[key.second], c.state);
            }
            std::pair<std::int64_t, Key> key{pane, {}};
            this->files_.scan(prefix_of(pane), [&](std::span<const std::byte> rest, std::span<const std::byte> value) {
                stream::state_reader of_key(rest);
                of_key(key.second);
                if (const cell* c = this->cells_.find(key); c != nullptr && (c->is_stored || c->has_changed)) return;
                State found{};
                this->take(value, found);
                join(window_[key.second], found);
            });
        }
    }

    std::vector<std::int64_t> panes_;
    merge merge_;
    stream::detail::keyed_table<Key, State> window_;
};

/// The table of a table_windows operator, which is moved.
template <typename Key, typename State>
class stored_panes {
    using pane_key = std::pair<std::int64_t, Key>;

public:
    stored_panes(std::shared_ptr<database_files> of, std::string table)
        : of_(std::make_unique<slot_panes<Key, State>>(std::move(of), std::move(table))) {}

    void want(stream::detail::wanted_states& all, const pane_key& key) { of_->want(all, key); }
    void want_window(stream::detail::wanted_states& all, std::vector<std::int64_t> panes,
                     std::function<void(State&, const State&)> merge) {
        of_->want_window(all, std::move(panes), std::move(merge));
    }
    template <typename Use>
    void take_window(Use use) {
        of_->take_window(std::move(use));
    }
    void forget_pane(std::int64_t number) { of_->forget_pane(number); }
    template <typename Change>
    void add_to(const pane_key& key, Change change) {
        of_->add_to(key, std::move(change));
    }
    void save(stream::state_writer& out) const { of_->save(out); }
    void load(stream::state_reader& in) { of_->load(in); }

private:
    std::unique_ptr<slot_panes<Key, State>> of_;
};

}  // namespace coflux::rocksdb::detail
