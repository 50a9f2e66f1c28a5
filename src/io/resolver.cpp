#include <coflux/io/resolver.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <coflux/core/detail/wait/turn.hpp>

#include "os/net/name_lookup.hpp"

namespace coflux {
namespace {

class category_of_resolver final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "coflux.resolver"; }
    [[nodiscard]] std::string message(int code) const override { return detail::os::text_of_lookup_error(code); }
    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (detail::os::kind_of_lookup_error(code)) {
        case detail::os::lookup_failure::not_found: return resolver_errc::not_found;
        case detail::os::lookup_failure::try_again: return resolver_errc::try_again;
        case detail::os::lookup_failure::no_memory: return std::make_error_condition(std::errc::not_enough_memory);
        default: return {code, *this};
        }
    }
};
/// The category of the conditions, whose numbers are not those of the errors.
class category_of_resolver_errc final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "coflux.resolver_errc"; }
    [[nodiscard]] std::string message(int condition) const override {
        return static_cast<resolver_errc>(condition) == resolver_errc::not_found ? "no such host" : "try again later";
    }
};

[[noreturn]] void throw_lookup_error(std::error_code code, std::string_view host) {
    std::string text = "coflux: look up '";
    for (const char c : host) c == '\0' ? text += "\\0" : text += c;  // what an exception says ends with a zero byte
    throw std::system_error(code, text + '\'');
}
std::error_code error_of(detail::os::lookup_error e) noexcept {
    if (e.of_system != 0) return {e.of_system, std::system_category()};
    return {e.code, resolver_category()};
}
std::error_code not_found() noexcept {
    return {detail::os::name_not_found(), resolver_category()};
}

detail::os::name_family family_of(address_family family) noexcept {
    switch (family) {
    case address_family::v4: return detail::os::name_family::v4;
    case address_family::v6: return detail::os::name_family::v6;
    default: return detail::os::name_family::any;
    }
}

std::vector<endpoint> look_up(const std::string& host, address_family family, detail::os::name_kind kind) {
    // Bytes behind a zero byte would be passed over.
    if (host.empty() || host.find('\0') != std::string::npos) throw_lookup_error(not_found(), host);
    std::vector<endpoint> found;
    const auto add = [](void* context, const void* name, std::size_t size) {
        endpoint e;
        if (size > endpoint::capacity()) return;
        std::memcpy(e.data(), name, size);
        e.resize(size);
        auto& all = *static_cast<std::vector<endpoint>*>(context);
        if (std::find(all.begin(), all.end(), e) == all.end()) all.push_back(e);
    };
    const auto error = detail::os::look_up_name(host.c_str(), family_of(family), kind, add, &found);
    if (error.code != 0) throw_lookup_error(error_of(error), host);
    if (found.empty()) throw_lookup_error(not_found(), host);
    return found;
}

/// More than a system has threads, and fewer than a semaphore counts.
constexpr std::size_t most_lookups = std::size_t{1} << 30;

std::vector<endpoint> with_port(std::vector<endpoint> all, std::uint16_t port) {
    for (endpoint& e : all) detail::os::set_port(e.data(), e.size(), port);
    return all;
}

/// A look_up of the user's may give one twice, or with different ports.
std::vector<endpoint> each_once(std::vector<endpoint> given) {
    std::vector<endpoint> found;
    for (const endpoint& e : with_port(std::move(given), 0)) {
        if (std::find(found.begin(), found.end(), e) == found.end()) found.push_back(e);
    }
    return found;
}

}  // namespace

const std::error_category& resolver_category() noexcept {
    static const category_of_resolver the_one;
    return the_one;
}
std::error_condition make_error_condition(resolver_errc e) noexcept {
    static const category_of_resolver_errc the_one;
    return {static_cast<int>(e), the_one};
}

namespace detail {

std::optional<std::vector<endpoint>> numeric_endpoints(std::string_view host, std::uint16_t port,
                                                       address_family family) {
    // No name has a colon, or nothing but digits and dots.
    if (host.find(':') == std::string_view::npos && host.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    return with_port(look_up(std::string(host), family, os::name_kind::numeric), port);
}

std::vector<endpoint> look_up_by_system(const std::string& host, address_family family) {
    return look_up(host, family, os::name_kind::any);
}

void name_lookup::leave_table() noexcept {
    const lock_guard<mutex> held(of_->lock_);
    of_->shared_.erase(what_);
}

void name_lookup::run(const std::shared_ptr<name_lookup>& self) noexcept {
    if (!self->leave_queued(begun)) return;
    try {
        self->found_ = each_once(self->of_->look_up(self->what_.first, self->what_.second));
        if (self->found_.empty()) self->code_ = not_found();
    } catch (const std::system_error& e) {
        self->code_ = e.code();
        if (!self->code_) self->error_ = std::current_exception();  // a look_up of the user's: it says that none failed
    } catch (...) {
        self->error_ = std::current_exception();
    }
    self->leave_table();
    self->of_->permits.release();
    self->ended_.set();
}

lookup_part::lookup_part(const std::shared_ptr<name_lookups>& of, name_lookups::key what) {
    const lock_guard<mutex> held(of->lock_);
    const auto [at, is_new] = of->shared_.try_emplace(what);
    if (is_new) {
        try {
            at->second = std::make_shared<name_lookup>(of, std::move(what));
        } catch (...) {
            of->shared_.erase(at);
            throw;
        }
        leads_ = true;
    }
    lookup_ = at->second;
}

lookup_part::~lookup_part() {
    if (!leads_ || !lookup_->leave_queued(name_lookup::dropped)) return;
    lookup_->leave_table();
    if (has_permit_) lookup_->of_->permits.release();
    lookup_->ended_.set();
}

std::optional<std::vector<endpoint>> lookup_part::result(std::uint16_t port) const {
    if (lookup_->state_.load(memory_order_acquire) == name_lookup::dropped) return std::nullopt;  // pairs with its CAS
    if (lookup_->error_ != nullptr) std::rethrow_exception(lookup_->error_);
    if (lookup_->code_) throw_lookup_error(lookup_->code_, lookup_->what_.first);
    return with_port(lookup_->found_, port);
}

}  // namespace detail

resolver::resolver(resolver_options options) : pool_(options.pool) {
    if (options.max_lookups == 0) {
        throw std::invalid_argument(
            "coflux: resolver_options::max_lookups is 0: a resolver makes at least one lookup at a time");
    }
    if (!options.look_up) options.look_up = &detail::look_up_by_system;
    const std::size_t most = std::min(options.max_lookups, most_lookups);
    lookups_ = std::make_shared<detail::name_lookups>(most, std::move(options.look_up));
}

call<std::vector<endpoint>> resolver::resolve(environment&, std::string_view host, std::uint16_t port,
                                              address_family family) {
    co_await detail::turn();
    if (auto numeric = detail::numeric_endpoints(host, port, family)) co_return std::move(*numeric);
    const std::shared_ptr<detail::name_lookups> lookups = lookups_;
    blocking_pool& pool = pool_ != nullptr ? *pool_ : blocking_pool::shared();
    for (;;) {
        detail::lookup_part part(lookups, {std::string(host), family});
        if (part.leads()) {
            co_await lookups->permits.acquire();
            part.has_permit();
            co_await pool.run(abandon_on_stop, &detail::name_lookup::run, part.lookup());
        } else {
            co_await part.ended();
        }
        if (auto found = part.result(port)) co_return std::move(*found);
        // It was dropped before it began: again, perhaps as its leader.
    }
}

}  // namespace coflux
