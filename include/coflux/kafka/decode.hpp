// kafka::decode: a stage that makes values of messages.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <coflux/kafka/message.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux {
namespace kafka {

/// A message that is not what it should be. It says where: "orders/2, offset 17: …".
class bad_message : public std::runtime_error {
public:
    bad_message(const message& of, std::string_view why);
};

}  // namespace kafka

namespace detail {

template <typename F, typename Next>
class decode_operator : public stream::detail::stage_operator<Next> {
public:
    decode_operator(F f, Next next) : stream::detail::stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    void process(stream::place& at, const kafka::message& m) {
        auto value = decoded(m);
        this->next().process(at, value);
    }

private:
    auto decoded(const kafka::message& m) {
        try {
            if constexpr (std::invocable<F&, std::string_view>) {
                if (!m.has_value()) throw std::invalid_argument("it has no value: it is a tombstone");
                return std::invoke(f_, m.value());
            } else {
                return std::invoke(f_, m);
            }
        } catch (const std::exception& e) {
            throw kafka::bad_message(m, e.what());
        }
    }

    [[no_unique_address]] F f_;
};

template <typename F>
auto decode_result() {
    if constexpr (std::invocable<F&, std::string_view>) {
        return std::type_identity<std::invoke_result_t<F&, std::string_view>>();
    } else {
        return std::type_identity<std::invoke_result_t<F&, const kafka::message&>>();
    }
}

}  // namespace detail

namespace kafka {

/// `decode(f)`: each message becomes `f(value)`.
///
/// Shapes: `f` takes a std::string_view, the value: stream::json_to<T>(), stream::utf8(), or a function. One that takes
/// a `const message&` also sees key, headers and time, and messages without a value.
/// Errors: bad_message with topic, partition and offset, and what `f` says. The job's policy has it as each error of a
/// stage: the record fails alone, and its dead letter has the bytes that came.
/// Costs: those of `f`.
template <typename F>
struct decode {
    using stage_type = decode;
    F f;
    explicit decode(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = std::remove_cvref_t<typename decltype(detail::decode_result<F>())::type>;
    template <typename In, typename Key>
    struct check {
        static constexpr bool ok = std::is_same_v<In, message>;
        static void say() { static_assert(ok, "coflux: kafka::decode() comes behind a source of Kafka"); }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::decode_operator<F, Next>(f, std::move(next));
    }
};

}  // namespace kafka
}  // namespace coflux
