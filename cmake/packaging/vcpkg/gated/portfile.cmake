# gated is headers: there is nothing to build, and nothing that differs between debug and release.
set(VCPKG_BUILD_TYPE release)

# The checkout that this port lies in. A port in a registry says vcpkg_from_git(OUT_SOURCE_PATH SOURCE_PATH URL … REF …) here.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DGATED_BUILD_TESTS=OFF
        -DGATED_BUILD_BENCH=OFF
        -DGATED_BUILD_EXAMPLES=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/gated)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
