// Callbacks on a coroutine's end, and the list nodes of shared frames.
#pragma once

#include <coroutine>
#include <exception>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/end.hpp>

namespace coflux::detail {

/// Suspends `p`, which awaits the handle of a shared frame: its node in the list comes from its environment's resource.
/// Throws what the resource throws, before any effect.
std::coroutine_handle<> await_in_list(promise_base& p, frame_control& child);

/// The exception being handled, thrown by a callback, becomes an error of `scope`.
void record_callback_error(environment& scope) noexcept;

/// std::invoke, without <functional>, which would be a tenth of what this header costs.
template <typename F, typename... Args>
void invoke_callback(F& f, Args&... args) {
    if constexpr (!std::is_member_pointer_v<F>) {
        f(args...);
    } else if constexpr (requires { ((args.*f)(), ...); }) {
        ((args.*f)(), ...);
    } else if constexpr (requires { (((*args).*f)(), ...); }) {
        (((*args).*f)(), ...);
    } else {
        ((args.get().*f)(), ...);  // a std::reference_wrapper
    }
}

template <ending When, typename T, typename F>
void call_if_ended_so(F& f, frame_control& c) {
    if (c.word.end() != When) return;
    if constexpr (When == ending::error) {
        c.error->observe();
        invoke_callback(f, c.error->error());
    } else if constexpr (When == ending::stopped || std::is_void_v<T>) {
        invoke_callback(f);
    } else if constexpr (std::is_reference_v<T>) {
        invoke_callback(f, *promise_of<T>(c).result());
    } else {
        invoke_callback(f, std::as_const(promise_of<T>(c).result()));
    }
}

template <ending When, typename T, typename F>
struct callback_node : waiter {
    /// Errors: what the resource throws, and the move of `f`; then nothing has happened.
    static callback_node* make(std::pmr::memory_resource* memory, F&& f) {
        void* const room = memory->allocate(sizeof(callback_node), alignof(callback_node));
        try {
            return ::new (room) callback_node(memory, std::move(f));
        } catch (...) {
            memory->deallocate(room, sizeof(callback_node), alignof(callback_node));
            throw;
        }
    }
    callback_node(std::pmr::memory_resource* memory, F&& f) : memory_(memory), f_(std::move(f)) {
        first = true;
        ended = [](waiter& self, frame_control& child, const void*) noexcept -> std::coroutine_handle<> {
            auto& node = static_cast<callback_node&>(self);
            try {
                call_if_ended_so<When, T>(node.f_, child);
            } catch (...) {
                record_callback_error(*self.scope);
            }
            node.destroy();
            return no_coroutine();
        };
    }
    void destroy() noexcept {
        std::pmr::memory_resource* const memory = memory_;
        this->~callback_node();
        memory->deallocate(this, sizeof(callback_node), alignof(callback_node));
    }

    std::pmr::memory_resource* memory_;
    F f_;
};

/// Calls `f` when the coroutine ends so, at once if it has; what it throws at once goes to the caller. Only the
/// handle's holder may call this.
template <ending When, typename T, typename F>
void attach_callback(frame_control& c, F f) {
    if (c.has_ended()) return call_if_ended_so<When, T>(f, c);
    using node_type = callback_node<When, T, F>;
    // Not the frame's own words: the coroutine may be running. Its environment keeps its memory.
    std::pmr::memory_resource* const memory = promise_base::of(c).memory_resource();
    auto* const node = node_type::make(memory, std::move(f));
    // An await that is ready at once may take the result while the callback looks at it.
    if constexpr (std::is_object_v<T> && std::is_copy_constructible_v<T>) copied_result<T>::made_possible();
    promise_base::share(c, 0);
    if (c.join.await(*node) == join_result::registered) return;
    // It ended while we allocated.
    struct destroys {
        node_type* node;
        ~destroys() { node->destroy(); }
    } const at_end{node};
    call_if_ended_so<When, T>(node->f_, c);
}

}  // namespace coflux::detail
