#include <coflux/io/connect_to.hpp>

#include <algorithm>
#include <new>

namespace coflux {
namespace {

std::string text_of(std::string_view whom, const std::vector<failed_attempt>& attempts) {
    std::string text = "coflux: connect to " + std::string(whom);
    const char* before = " (";
    for (const failed_attempt& a : attempts) {
        text += before + a.to.to_string() + ": " + a.text;
        before = "; ";
    }
    return text + ')';
}
std::error_code first_code(const std::vector<failed_attempt>& attempts) noexcept {
    return attempts.empty() ? std::make_error_code(std::errc::io_error) : attempts.front().code;
}

}  // namespace

connect_error::connect_error(std::string_view whom, std::vector<failed_attempt> attempts)
    : std::system_error(first_code(attempts), text_of(whom, attempts)),
      attempts_(std::make_shared<const std::vector<failed_attempt>>(std::move(attempts))) {}

failed_attempt detail::failure_of(const endpoint& to, const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& e) {
        return {to, e.code(), e.code().message()};
    } catch (const std::bad_alloc& e) {
        return {to, std::make_error_code(std::errc::not_enough_memory), e.what()};
    } catch (const std::exception& e) {
        return {to, std::make_error_code(std::errc::io_error), e.what()};
    } catch (...) {
        return {to, std::make_error_code(std::errc::io_error), "an exception of an unknown type"};
    }
}

std::vector<endpoint> interleaved(std::vector<endpoint> all, std::size_t first_family_count) {
    if (all.empty()) return all;
    const int family = all.front().family();
    std::vector<endpoint> result;
    result.reserve(all.size());
    std::vector<endpoint> others;
    std::vector<endpoint> first;
    for (const endpoint& e : all) (e.family() == family ? first : others).push_back(e);
    auto one = first.begin();
    auto other = others.begin();
    for (std::size_t n = std::max<std::size_t>(first_family_count, 1); n != 0 && one != first.end(); --n)
        result.push_back(*one++);
    while (one != first.end() || other != others.end()) {
        if (other != others.end()) result.push_back(*other++);
        if (one != first.end()) result.push_back(*one++);
    }
    return result;
}

call<tcp_stream> connect_to(environment&, resolver& names, std::string_view host, std::uint16_t port,
                            connect_options options) {
    auto&& here = co_await context();
    std::vector<endpoint> found = co_await names.resolve(here, host, port, options.family);
    const std::string whom = std::string(host) + ':' + std::to_string(port);
    detail::connect_over_tcp connect{options.tcp};
    co_return co_await connect_race(here, interleaved(std::move(found), options.first_family_count), connect, options,
                                    whom);
}

}  // namespace coflux
