include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/coflux")

set_target_properties(coflux PROPERTIES EXPORT_NAME coflux)
install(
    TARGETS coflux_core coflux_runtime coflux_io coflux_stream coflux_asio coflux_opentelemetry coflux_testing coflux_testing_network coflux
    EXPORT coflux-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILE_SET details DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# What an installation needs, and not more.
add_custom_target(coflux_installed DEPENDS coflux_core coflux_runtime coflux_io coflux_stream coflux_testing coflux_testing_network)
install(
    EXPORT coflux-targets
    NAMESPACE coflux::
    DESTINATION "${package_dir}")
# A set of its own for each that needs another library: a package that does not ask for it does not need that.
function(coflux_install_optional name)
    add_dependencies(coflux_installed coflux_${name})
    install(
        TARGETS coflux_${name}
        EXPORT coflux-${name}-targets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILE_SET details DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(
        EXPORT coflux-${name}-targets
        NAMESPACE coflux::
        DESTINATION "${package_dir}")
endfunction()
foreach(name IN ITEMS tls kafka rocksdb inspector)
    string(TOUPPER "${name}" upper)
    if(COFLUX_HAS_${upper})
        coflux_install_optional(${name})
    endif()
endforeach()
if(TARGET coflux_stream_program)
    add_dependencies(coflux_installed coflux_stream_program)
    install(TARGETS coflux_stream_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/coflux-config.cmake.in" "${PROJECT_BINARY_DIR}/coflux-config.cmake"
    INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break source compatibility.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/coflux-config-version.cmake"
    VERSION ${PROJECT_VERSION}
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/coflux-config.cmake" "${PROJECT_BINARY_DIR}/coflux-config-version.cmake"
        DESTINATION "${package_dir}")

# coflux.pc names its folders relative to itself, so that `cmake --install --prefix` and a moved tree keep working.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(COFLUX_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(COFLUX_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
else()
    file(RELATIVE_PATH up "/${pkgconfig_dir}" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(COFLUX_PC_PREFIX "\${pcfiledir}/${up}")
    set(COFLUX_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(COFLUX_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
else()
    set(COFLUX_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(COFLUX_PC_REQUIRES "")
if(COFLUX_HAS_HWLOC)
    set(COFLUX_PC_REQUIRES "Requires: hwloc >= 2.1\n")
endif()
# What clang needs to read frames' alignment; g++ refuses the flag. A file serves the compiler that the libraries were
# built with, as the libraries themselves do (COFLUX_ASIDE).
set(COFLUX_PC_CFLAGS "")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|IntelLLVM")
    set(COFLUX_PC_CFLAGS " -fcoro-aligned-allocation")
endif()
if(BUILD_SHARED_LIBS)
    string(APPEND COFLUX_PC_CFLAGS " -DCOFLUX_SHARED_LIBRARIES")  # as the targets have it (CMakeLists.txt)
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux.pc.in" "${PROJECT_BINARY_DIR}/coflux.pc" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux-testing.pc.in" "${PROJECT_BINARY_DIR}/coflux-testing.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/coflux.pc" "${PROJECT_BINARY_DIR}/coflux-testing.pc" DESTINATION "${pkgconfig_dir}")
if(COFLUX_HAS_TLS)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux-tls.pc.in" "${PROJECT_BINARY_DIR}/coflux-tls.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/coflux-tls.pc" DESTINATION "${pkgconfig_dir}")
endif()
if(COFLUX_HAS_KAFKA)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux-kafka.pc.in" "${PROJECT_BINARY_DIR}/coflux-kafka.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/coflux-kafka.pc" DESTINATION "${pkgconfig_dir}")
endif()
if(COFLUX_HAS_ROCKSDB)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux-rocksdb.pc.in" "${PROJECT_BINARY_DIR}/coflux-rocksdb.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/coflux-rocksdb.pc" DESTINATION "${pkgconfig_dir}")
endif()
if(COFLUX_HAS_INSPECTOR)
    list(JOIN COFLUX_INSPECTOR_PACKAGE " " COFLUX_PC_INSPECTOR)
    string(REPLACE ">=" " >= " COFLUX_PC_INSPECTOR "${COFLUX_PC_INSPECTOR}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/coflux-inspector.pc.in" "${PROJECT_BINARY_DIR}/coflux-inspector.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/coflux-inspector.pc" DESTINATION "${pkgconfig_dir}")
endif()
# The commands for gdb and lldb. gdb loads what is named as a library, by itself, where it trusts the folder.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/coflux_debugger" DESTINATION "${CMAKE_INSTALL_DATADIR}/coflux"
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
# It finds the modules of those commands in that folder.
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/coflux_top.py" RENAME coflux-top DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(BUILD_SHARED_LIBS)
    install(FILES "${PROJECT_SOURCE_DIR}/cmake/coflux-gdb.py" RENAME "$<TARGET_FILE_NAME:coflux_runtime>-gdb.py"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/coflux")
