// any_sink and any_store: the sink and the store of a job, as the engine calls them.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux::stream::detail {

/// Its functions are called once a batch, or less often.
///
/// Pre: of the last four: the sink has transactions, and the job is exactly once.
class any_sink {
public:
    any_sink() = default;
    any_sink(const any_sink&) = delete;
    any_sink& operator=(const any_sink&) = delete;
    virtual ~any_sink() = default;

    /// Writes `count` records of `from`.
    [[nodiscard]] virtual call<void> write(environment& here, parcel& from, std::size_t first, std::size_t count) = 0;
    [[nodiscard]] virtual call<void> flush(environment& here) = 0;
    [[nodiscard]] virtual call<void> begin(environment& here) = 0;
    [[nodiscard]] virtual call<void> commit(environment& here, const positions& done) = 0;
    [[nodiscard]] virtual call<void> abort(environment& here) = 0;
    [[nodiscard]] virtual call<std::optional<positions>> committed(environment& here) = 0;
};

/// `IsExact`: the last four are called. Else they are not instantiated.
template <typename S, typename T, bool IsExact>
class any_sink_of final : public any_sink {
public:
    explicit any_sink_of(S& of) noexcept : of_(of) {}

    call<void> write(environment& here, parcel& from, std::size_t first, std::size_t count) override {
        return of_.write(here, records_of<T>(from).all().subspan(first, count));
    }
    call<void> flush(environment& here) override { return of_.flush(here); }
    call<void> begin([[maybe_unused]] environment& here) override {
        if constexpr (IsExact) return of_.begin(here);
        never_called();
    }
    call<void> commit([[maybe_unused]] environment& here, [[maybe_unused]] const positions& done) override {
        if constexpr (IsExact) return of_.commit(here, done);
        never_called();
    }
    call<void> abort([[maybe_unused]] environment& here) override {
        if constexpr (IsExact) return of_.abort(here);
        never_called();
    }
    call<std::optional<positions>> committed([[maybe_unused]] environment& here) override {
        if constexpr (IsExact) return of_.committed(here);
        never_called();
    }

private:
    S& of_;
};

class any_store {
public:
    any_store() = default;
    any_store(const any_store&) = delete;
    any_store& operator=(const any_store&) = delete;
    virtual ~any_store() = default;

    [[nodiscard]] virtual call<void> store(environment& here, const checkpoint& c) = 0;
    [[nodiscard]] virtual call<std::optional<checkpoint>> load(environment& here, const positions* wanted) = 0;
    [[nodiscard]] virtual bool has_tables() const noexcept = 0;
};

/// `S`: a store, or a reference to one.
template <typename S>
class any_store_of final : public any_store {
public:
    any_store_of(S& of, [[maybe_unused]] bool is_exact) : of_(of) {
        if constexpr (requires { store_of(of).keep_two(is_exact); }) store_of(of).keep_two(is_exact);
    }

    call<void> store(environment& here, const checkpoint& c) override { return store_of(of_).store(here, c); }
    call<std::optional<checkpoint>> load(environment& here, const positions* wanted) override {
        return store_of(of_).load(here, wanted);
    }
    [[nodiscard]] bool has_tables() const noexcept override {
        return detail::has_tables<std::remove_cvref_t<decltype(store_of(of_))>>;
    }

private:
    S& of_;
};

}  // namespace coflux::stream::detail
