#include "core/detail/readable_name.hpp"

#include <algorithm>

namespace coflux::detail {
namespace {

constexpr std::string_view call_operator = "operator()";

/// Behind the bracket that closes the one at the front of `text`; the end, if none does.
std::size_t behind_bracket(std::string_view text) noexcept {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(') ++depth;
        if (text[i] == ')' && --depth == 0) return i + 1;
    }
    return text.size();
}

/// How much of the front of `text` is a lambda: `<lambda(auto:1&&, int)>` of g++, `(anonymous class)` of clang.
std::size_t lambda_at_front(std::string_view text) noexcept {
    constexpr std::string_view of_gcc = "<lambda";
    if (text.starts_with(of_gcc)) {
        const std::size_t behind = of_gcc.size() + behind_bracket(text.substr(of_gcc.size()));
        return std::min(behind + 1, text.size());
    }
    for (const std::string_view word : {"(anonymous class)", "(lambda)"}) {
        if (text.starts_with(word)) return word.size();
    }
    return 0;
}

std::size_t unnamed_namespace_at_front(std::string_view text) noexcept {
    for (const std::string_view word : {"(anonymous namespace)::", "{anonymous}::"}) {
        if (text.starts_with(word)) return word.size();
    }
    return 0;
}

}  // namespace

readable_name::readable_name(std::string_view function) noexcept {
    std::size_t angles = 0;
    for (std::size_t i = 0; i < function.size();) {
        const std::string_view left = function.substr(i);
        if (const std::size_t skipped = unnamed_namespace_at_front(left); skipped != 0) {
            i += skipped;
        } else if (const std::size_t lambda = lambda_at_front(left); lambda != 0) {
            add("lambda");
            i += lambda;
        } else if (left.starts_with(call_operator)) {
            // It says nothing of a lambda.
            if (std::string_view(text_.data(), size_).ends_with("lambda::")) {
                size_ -= 2;
            } else {
                add(call_operator);
            }
            i += call_operator.size();
        } else if (left.starts_with(" [") && angles == 0) {
            break;  // the text of the template parameters, behind a lambda of g++ that has no list of its own
        } else if (left.front() == '(' && angles == 0) {
            const std::size_t parameters = behind_bracket(left);
            if (!left.substr(parameters).starts_with("::")) break;
            add("()");  // a function around this one
            i += parameters;
        } else {
            if (left.front() == '<') ++angles;
            if (left.front() == '>' && angles != 0) --angles;
            // Up to the last blank before the name: the type of the result.
            if (left.front() == ' ' && angles == 0) {
                size_ = 0;
            } else {
                add(left.substr(0, 1));
            }
            ++i;
        }
    }
    text_[size_] = '\0';
}

void readable_name::add(std::string_view piece) noexcept {
    const std::size_t fits = std::min(piece.size(), text_.size() - 1 - size_);
    std::copy_n(piece.data(), fits, text_.data() + size_);
    size_ += fits;
}

std::string_view type_in(std::string_view name) noexcept {
    constexpr std::string_view before = "E = ";
    const std::size_t at = name.find(before);
    if (at == std::string_view::npos || !name.ends_with(']')) return name;
    name.remove_prefix(at + before.size());
    name.remove_suffix(1);
    return name;
}

}  // namespace coflux::detail
