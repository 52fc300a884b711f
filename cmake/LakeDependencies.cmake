# Third-party libraries. docs/dependencies.md says what each one is for and where it comes from.

option(LAKE_SYSTEM_DEPS "Use system libraries only, nothing from .deps/" OFF)
set(LAKE_DEPS_DIR ${CMAKE_SOURCE_DIR}/.deps CACHE PATH "Folder that scripts/setup fills")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
find_package(roaring REQUIRED CONFIG)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)

# Arrow's prebuilt libraries export the copies of OpenSSL and utf8proc inside them. Debian's are named first, so that
# ours bind to those, which get its security updates; tests/scripts/test_symbols.py checks it.
add_link_options(LINKER:--push-state,--no-as-needed -lcrypto -lutf8proc LINKER:--pop-state)

# lake_import_shared(<target> <library file> <include dir>): one prebuilt shared library.
function(lake_import_shared target library include_dir)
  if(NOT EXISTS ${library})
    message(FATAL_ERROR "${library} is missing: run scripts/setup first")
  endif()
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library})
  target_include_directories(${target} SYSTEM INTERFACE ${include_dir})
endfunction()

# lake_check_duckdb(<library> <file with the version of the headers>): stops unless both are LAKE_DUCKDB_VERSION.
function(lake_check_duckdb library version_file)
  if(NOT EXISTS ${version_file})
    message(FATAL_ERROR "${version_file} is missing: run scripts/setup first")
  endif()
  file(STRINGS ${version_file} headers_version LIMIT_COUNT 1)
  # Asking the library itself is the only sure way: it names older versions in its text as well.
  if(NOT LAKE_DUCKDB_LIBRARY_VERSION OR ${library} IS_NEWER_THAN ${CMAKE_CACHEFILE_DIR}/CMakeCache.txt)
    execute_process(
      COMMAND /usr/bin/python3 -c "import ctypes, sys
version = ctypes.CDLL(sys.argv[1]).duckdb_library_version
version.restype = ctypes.c_char_p
print(version().decode().lstrip('v'), end='')" ${library}
      OUTPUT_VARIABLE library_version COMMAND_ERROR_IS_FATAL ANY)
    set(LAKE_DUCKDB_LIBRARY_VERSION ${library_version} CACHE INTERNAL "What libduckdb.so says")
  endif()
  if(NOT headers_version STREQUAL LAKE_DUCKDB_VERSION OR NOT LAKE_DUCKDB_LIBRARY_VERSION STREQUAL LAKE_DUCKDB_VERSION)
    message(FATAL_ERROR "DuckDB does not match scripts/pins.txt (${LAKE_DUCKDB_VERSION}): the headers are "
            "${headers_version}, the library is ${LAKE_DUCKDB_LIBRARY_VERSION}. Run scripts/setup.")
  endif()
endfunction()

if(LAKE_SYSTEM_DEPS)
  find_package(Arrow REQUIRED)
  find_package(Parquet REQUIRED)
  find_package(ArrowCompute REQUIRED)
  add_library(lake_arrow INTERFACE)
  target_link_libraries(lake_arrow INTERFACE ArrowCompute::arrow_compute_shared Parquet::parquet_shared Arrow::arrow_shared)
else()
  file(GLOB arrow_library ${LAKE_DEPS_DIR}/arrow/lib/libarrow.so.*)
  if(NOT arrow_library)
    message(FATAL_ERROR "${LAKE_DEPS_DIR}/arrow is missing: run scripts/setup first")
  endif()
  string(REGEX MATCH "[0-9]+$" arrow_soversion ${arrow_library})
  foreach(name arrow arrow_compute parquet)
    lake_import_shared(lake_import_${name} ${LAKE_DEPS_DIR}/arrow/lib/lib${name}.so.${arrow_soversion}
                       ${LAKE_DEPS_DIR}/arrow/include)
  endforeach()
  add_library(lake_arrow INTERFACE)
  target_link_libraries(lake_arrow INTERFACE lake_import_parquet lake_import_arrow_compute lake_import_arrow)
endif()
add_library(lake::arrow ALIAS lake_arrow)

if(NOT LAKE_CORE_ONLY)
  # lake/query is written against the internals of exactly one version.
  file(STRINGS ${CMAKE_SOURCE_DIR}/scripts/pins.txt duckdb_pin REGEX "^sdist +duckdb +duckdb ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LAKE_DUCKDB_VERSION "${duckdb_pin}")
  if(LAKE_SYSTEM_DEPS)
    find_library(duckdb_library duckdb REQUIRED)
    find_path(duckdb_include duckdb.hpp REQUIRED)
  else()
    set(duckdb_library ${LAKE_DEPS_DIR}/duckdb/lib/libduckdb.so)
    set(duckdb_include ${LAKE_DEPS_DIR}/duckdb/include)
    lake_check_duckdb(${duckdb_library} ${LAKE_DEPS_DIR}/duckdb/VERSION)
  endif()
  lake_import_shared(lake_duckdb ${duckdb_library} ${duckdb_include})
  target_compile_definitions(lake_duckdb INTERFACE LAKE_DUCKDB_VERSION="${LAKE_DUCKDB_VERSION}")
  add_library(lake::duckdb ALIAS lake_duckdb)
  pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)
  find_package(CLI11 REQUIRED)
endif()

find_package(GTest REQUIRED)
find_package(spdlog REQUIRED)

set(LAKE_PYTHON ${LAKE_DEPS_DIR}/venv/bin/python3 CACHE FILEPATH "Python of the test suite, with pylance and pytest")
