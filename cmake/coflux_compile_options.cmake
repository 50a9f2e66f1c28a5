# What the project adds to its own compilations. Nothing here reaches a consumer, except a sanitizer that was asked for.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(COFLUX_CCACHE ccache)
    # A compiler's own memory takes a tenth less of its time from this malloc than from glibc's.
    find_library(COFLUX_COMPILER_MALLOC libtcmalloc_minimal.so.4)
    mark_as_advanced(COFLUX_CCACHE COFLUX_COMPILER_MALLOC)
    if(COFLUX_CCACHE)
        # Without this sloppiness it caches nothing that uses a precompiled header: it concerns __TIME__, what a header
        # defines, and the time at which a header was written. Without the next two nothing that another clone has
        # compiled is found. And what is not found is compiled at once: it is not preprocessed first.
        set(CMAKE_CXX_COMPILER_LAUNCHER
            "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
            CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_PCH_EXTSUM=1)
        if(COFLUX_COMPILER_MALLOC)
            list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "LD_PRELOAD=${COFLUX_COMPILER_MALLOC}")
        endif()
        list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "${COFLUX_CCACHE}")
    endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # CMake's own way hides the header's path behind -Xclang, where ccache does not make it relative.
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
endif()

set(sanitizers "" "address" "address,undefined" "thread")
if(NOT COFLUX_SANITIZE IN_LIST sanitizers)
    message(FATAL_ERROR "COFLUX_SANITIZE is \"${COFLUX_SANITIZE}\"; allowed: empty, \"address\", \"address,undefined\", \"thread\"")
endif()
unset(sanitizers)

# Warnings for one target of this project. As a subproject it stays silent: the warnings are not its user's to mend.
function(coflux_warnings target)
    if(NOT PROJECT_IS_TOP_LEVEL)
        return()
    endif()
    # The promise reads a coroutine's environment; the compilers call it unused where the body does not name it.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter)
    if(COFLUX_WARNINGS_AS_ERRORS)
        target_compile_options(${target} PRIVATE -Werror)
        if(COFLUX_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # g++ warns at each atomic_thread_fence that its ThreadSanitizer does not model fences.
            target_compile_options(${target} PRIVATE -Wno-error=tsan)
        endif()
    endif()
endfunction()

# A sanitizer must see every translation unit that shares the library's inline code, so users of the target inherit it.
function(coflux_sanitize target)
    if(COFLUX_FUZZ)
        # libFuzzer sees which edges an input takes; its main comes with -fsanitize=fuzzer where a fuzz program is
        # linked.
        target_compile_options(${target} PUBLIC "$<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>")
    endif()
    if(COFLUX_SANITIZE STREQUAL "")
        return()
    endif()
    set(flags -fsanitize=${COFLUX_SANITIZE} -fno-omit-frame-pointer)
    if(COFLUX_SANITIZE MATCHES "undefined")
        list(APPEND flags -fno-sanitize-recover=all)
        if(NOT COFLUX_SANITIZE_POINTERS)
            list(APPEND flags -fno-sanitize=alignment,null,object-size,vptr)
        endif()
    endif()
    target_compile_options(${target} PUBLIC "$<BUILD_INTERFACE:${flags}>")
    target_link_options(${target} PUBLIC "$<BUILD_INTERFACE:-fsanitize=${COFLUX_SANITIZE}>")
endfunction()
