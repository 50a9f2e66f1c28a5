// expect: an async_generator that is a member function borrows *this: make it a static function that takes the object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = void;` into the class
#include <coflux/coflux.hpp>

struct range {
#ifdef COFLUX_GOOD
    using outlives_its_coroutines = void;
#endif
    int last = 3;
    coflux::async_generator<int> numbers(coflux::environment&) {
        for (int i = 0; i != last; ++i) co_yield i;
    }
};
