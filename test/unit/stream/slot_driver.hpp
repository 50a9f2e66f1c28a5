// slot_driver: the stages of one slot, without an engine: a test says what comes, and when the watermark moves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <coflux/stream/flow.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/stage.hpp>
#include <coflux/stream/state.hpp>

namespace coflux_test {

namespace stream = coflux::stream;

/// `ms(5)`: the time 5 ms behind the epoch.
inline stream::event_time ms(std::int64_t n) {
    return stream::event_time(std::chrono::milliseconds(n));
}

template <typename Out>
struct output_at {
    Out value;
    stream::event_time time;
};

template <typename Out>
struct collector {
    static constexpr bool has_state = false;
    static constexpr bool reads_ahead = false;
    std::vector<output_at<Out>>* into;

    void process(stream::place& at, Out& value) { into->push_back({std::move(value), at.time}); }
    void advance(stream::place&, stream::event_time) {}
    void save(stream::state_writer&) const {}
    void load(stream::state_reader&) {}
};

template <typename In, typename Key, typename Out, typename Stages>
auto bind_all(const Stages& stages, std::vector<output_at<Out>>* into) {
    return stream::detail::bind_stages<In, Key>(stages, collector<Out>{into});
}

/// Stages for values of `In` and keys of `Key`.
template <typename In, typename Key, typename... Stages>
class slot_driver {
    using stages = std::tuple<Stages...>;

public:
    using output = typename stream::detail::output_type<In, Key, stages>::type;

    explicit slot_driver(Stages... s) : stages_(std::move(s)...) { op_.emplace(bind()); }
    slot_driver(const slot_driver&) = delete;
    slot_driver& operator=(const slot_driver&) = delete;

    void process(const Key& key, stream::event_time time, In value) {
        place_.time = time;
        place_.key = &key;
        place_.touched = false;
        place_.late = &late_;
        op_->process(place_, value);
    }
    void advance(stream::event_time watermark) {
        stream::place at;
        at.watermark = place_.watermark;
        at.late = &late_;
        op_->advance(at, watermark);
        place_.watermark = watermark;
    }
    /// The watermark of the worker, which the operators have not been told.
    void set_watermark(stream::event_time watermark) noexcept { place_.watermark = watermark; }
    /// Goes on with operators that have only what was saved, as after a restart.
    void restart() { load(saved()); }
    [[nodiscard]] std::vector<std::byte> saved() const {
        std::vector<std::byte> bytes;
        stream::state_writer out(bytes);
        op_->save(out);
        return bytes;
    }
    /// Goes on with operators that have only these bytes.
    void load(std::span<const std::byte> bytes) {
        op_.emplace(bind());
        stream::state_reader in(bytes);
        op_->load(in);
        if (in.left() != 0) throw stream::corrupt_state("bytes are left");
        place_.watermark = stream::no_time;
    }

    [[nodiscard]] const std::vector<output_at<output>>& outputs() const noexcept { return outputs_; }
    [[nodiscard]] std::vector<output> values() const {
        std::vector<output> all;
        for (const auto& each : outputs_) all.push_back(each.value);
        return all;
    }
    [[nodiscard]] std::uint64_t late() const noexcept { return late_.all(); }
    [[nodiscard]] bool touched() const noexcept { return place_.touched; }

private:
    auto bind() { return bind_all<In, Key, output>(stages_, &outputs_); }

    stages stages_;
    std::vector<output_at<output>> outputs_;
    std::optional<decltype(bind_all<In, Key, output>(std::declval<const stages&>(), nullptr))> op_;
    stream::place place_{};
    stream::detail::observed seen_;
    stream::detail::late_counts late_{seen_};
};

template <typename In, typename Key, typename... Stages>
auto drive(Stages... stages) {
    return slot_driver<In, Key, Stages...>(std::move(stages)...);
}

}  // namespace coflux_test
