// parse: a stage that makes values of texts.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <coflux/stream/stage.hpp>
#include <coflux/stream/text_line.hpp>

namespace coflux::stream {

namespace detail {

/// Errors: bad_text where arrays and objects of JSON are nested more than 512 times. nlohmann/json copies,
/// writes and compares such a value by recursion, and a line of brackets would take the whole stack.
void check_nesting(std::string_view json);

template <typename F, typename Next>
class parse_operator : public stage_operator<Next> {
public:
    parse_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    void process(place& at, const text_line& line) {
        auto value = parsed(line);
        this->next().process(at, value);
    }
    void process(place& at, const std::string& text) {
        auto value = std::invoke(f_, std::string_view(text));
        this->next().process(at, value);
    }

private:
    auto parsed(const text_line& line) {
        try {
            return std::invoke(f_, std::string_view(line.text));
        } catch (const std::exception& e) {
            throw bad_text(line, e.what());
        }
    }

    [[no_unique_address]] F f_;
};

}  // namespace detail

/// `parse(f)`: each text_line or string becomes `f(text)`.
///
/// Shapes: `f` takes a std::string_view, and gives a value: json_to<T>(), csv_fields(), utf8(), or a function.
/// Errors: bad_text with file and line, and what `f` says, of a line that `f` throws for. The job's policy has it as
/// each error of a stage: the record fails alone.
template <typename F>
struct parse {
    using stage_type = parse;
    F f;
    explicit parse(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = std::remove_cvref_t<std::invoke_result_t<F&, std::string_view>>;
    template <typename In, typename Key>
    struct check {
        static constexpr bool has_text = std::is_same_v<In, text_line> || std::is_same_v<In, std::string>;
        static constexpr bool takes = std::is_invocable_v<F&, std::string_view>;
        static constexpr bool ok = has_text && takes;
        static void say() {
            static_assert(has_text, "coflux: parse() comes behind what gives a stream::text_line or a std::string");
            static_assert(takes, "coflux: the function of parse() takes a std::string_view, and gives a value");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::parse_operator<F, Next>(f, std::move(next));
    }
};

/// `parse(utf8())`: the text itself, where it is UTF-8.
/// Errors: bad_text that names the first byte that is not.
struct utf8 {
    [[nodiscard]] std::string operator()(std::string_view text) const;
};
/// Where the first byte is that is not part of a character in UTF-8; `text.size()` if there is none. Surrogates, and
/// characters in more bytes than they need, are none.
/// Source: RFC 3629, section 4.
[[nodiscard]] std::size_t end_of_utf8(std::string_view text) noexcept;

}  // namespace coflux::stream
