include(GNUInstallDirs)

# Sets `out` to sources that include the ones that follow, up to `size` each, by their paths from `folder`, which is an
# include directory: most of a source is headers. CMake's own (UNITY_BUILD) name the checkout, and no compiler cache
# finds them for another one.
function(coflux_unite_sources out target size folder)
    set(units "")
    while(ARGN)
        list(SUBLIST ARGN 0 ${size} batch)
        list(REMOVE_ITEM ARGN ${batch})
        set(text "")
        foreach(source IN LISTS batch)
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${folder}")
            string(APPEND text "#include \"${source}\"\n")
        endforeach()
        list(LENGTH units number)
        set(unit "${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cpp")
        file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
        list(APPEND units "${unit}")
    endwhile()
    set(${out} "${units}" PARENT_SCOPE)
endfunction()

# coflux_add_library(<name> FOLDERS <folder>... TOP_HEADERS <header>... [WITHOUT <regex of sources>])
#
# Makes coflux_<name>, alias coflux::<name>, from src/<folder>/**/*.cpp, and lists the headers of
# include/coflux/<folder>/ and the named headers of include/coflux/ in its file sets: they are installed with it, and with
# CMAKE_VERIFY_INTERFACE_HEADER_SETS each that users name is compiled alone.
function(coflux_add_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "WITHOUT" "FOLDERS;TOP_HEADERS")
    set(include_dir "${PROJECT_SOURCE_DIR}/include")
    set(source_dir "${PROJECT_SOURCE_DIR}/src")

    list(TRANSFORM arg_TOP_HEADERS PREPEND "${include_dir}/coflux/" OUTPUT_VARIABLE headers)
    set(sources "")
    foreach(folder IN LISTS arg_FOLDERS)
        file(GLOB_RECURSE folder_sources CONFIGURE_DEPENDS "${source_dir}/${folder}/*.cpp")
        file(GLOB_RECURSE folder_headers CONFIGURE_DEPENDS "${include_dir}/coflux/${folder}/*.hpp")
        list(APPEND sources ${folder_sources})
        list(APPEND headers ${folder_headers})
    endforeach()

    if(arg_WITHOUT)
        list(FILTER sources EXCLUDE REGEX "${arg_WITHOUT}")
    endif()

    set(target coflux_${name})
    if(COFLUX_UNITY)
        # Several units, so that two processors share them.
        coflux_unite_sources(sources ${target} 20 "${source_dir}" ${sources})
    endif()
    add_library(${target} ${sources})
    if(COFLUX_UNITY)
        # g++ warns of a frame with a local type or a lambda outside of the file that it was given.
        target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
    endif()
    add_library(coflux::${name} ALIAS ${target})
    set_target_properties(
        ${target}
        PROPERTIES EXPORT_NAME ${name}
                   LINKER_LANGUAGE CXX
                   # A static library links into a shared one, too (docs/howto/plug-ins.md).
                   POSITION_INDEPENDENT_CODE ON
                   DEFINE_SYMBOL ""  # Nothing asks for it.
                   # Shared libraries of one package find each other next to themselves.
                   INSTALL_RPATH "$ORIGIN"
                   VERSION ${PROJECT_VERSION}
                   SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_compile_features(${target} PUBLIC cxx_std_20)
    set(details ${headers})
    list(FILTER details INCLUDE REGEX "/detail/")
    list(FILTER headers EXCLUDE REGEX "/detail/")
    target_sources(
        ${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${include_dir}" FILES ${headers}
        PUBLIC FILE_SET details TYPE HEADERS BASE_DIRS "${include_dir}" FILES ${details})
    set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
    target_include_directories(
        ${target}
        PUBLIC "$<BUILD_INTERFACE:${include_dir}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
        PRIVATE "${source_dir}")
    coflux_warnings(${target})
    coflux_sanitize(${target})
    if(COFLUX_PRECOMPILE_LIBRARY)
        coflux_use_precompiled(${target} coflux_library_precompiled)
    endif()
endfunction()
