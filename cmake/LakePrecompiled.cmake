# Precompiled headers (-DLAKE_PRECOMPILE=OFF does without): a third of a compilation is reading Arrow's, GoogleTest's and
# DuckDB's headers. g++ only: clang's precompiled headers hold the time of day, which no object cache hits.
#
# Only headers of libraries, never our own: a change of ours must not compile everything again. The more they hold the
# longer each compilation takes to load them: what most sources include, no more. Every source still includes what it
# uses; scripts/check-thread-safety compiles without them.

if(LAKE_PRECOMPILE)
  # -fpch-preprocess is what ccache needs to see through them. -fPIC for programs too, instead of -fPIE: then one set
  # of headers serves all.
  set(CMAKE_POSITION_INDEPENDENT_CODE)
  add_compile_options(-fpch-preprocess -fPIC)
endif()

set(lake_precompiled
  <algorithm> <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>
  <arrow/array.h> <arrow/record_batch.h> <arrow/type.h>)

# lake_make_precompiled(<target> <library>... HEADERS <header>...): one set, for targets that are compiled alike.
function(lake_make_precompiled target)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  if(LAKE_PRECOMPILE)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
    file(GENERATE OUTPUT ${source} CONTENT "")
    add_library(${target} OBJECT ${source})
    target_link_libraries(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
    target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

# lake_use_precompiled(<target> <set>)
function(lake_use_precompiled target set)
  if(LAKE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${set})
  endif()
endfunction()

lake_make_precompiled(lake_precompiled lake::arrow fmt::fmt HEADERS ${lake_precompiled})
lake_make_precompiled(lake_precompiled_tests lake::arrow fmt::fmt GTest::gmock
                      HEADERS ${lake_precompiled} <gmock/gmock.h> <gtest/gtest.h>)
