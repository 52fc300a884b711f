# Precompiled headers (-DLAKE_PRECOMPILE=OFF does without): a third of a compilation is reading Arrow's, GoogleTest's and
# DuckDB's headers.
#
# Only headers of libraries, never our own: a change of ours must not compile everything again. The more they hold the
# longer each compilation takes to load them: what most sources include, no more. Every source still includes what it
# uses: scripts/fuzz compiles without them.

if(LAKE_PRECOMPILE)
  # -fPIC for programs too, instead of -fPIE: then one set of headers serves all.
  set(CMAKE_POSITION_INDEPENDENT_CODE)
  add_compile_options(-fPIC)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What ccache needs to see through them.
    add_compile_options(-fpch-preprocess)
  else()
    # The time of day in them would be another in each clone.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

set(lake_precompiled
  <algorithm> <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>
  <arrow/array.h> <arrow/record_batch.h> <arrow/type.h>)

# lake_make_precompiled(<target> <library>... HEADERS <header>...): one set, for targets that are compiled alike.
#
# For clang, CMake would name the set by its full path, which no other clone has: there it is an object file like others,
# named from the build folder (LakeCompiler.cmake tells clang no other name of it).
function(lake_make_precompiled target)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  if(NOT LAKE_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    file(GENERATE OUTPUT ${source} CONTENT "")
    target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  else()
    list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "#include \\1\n")
    list(JOIN ARG_HEADERS "" includes)
    file(GENERATE OUTPUT ${source} CONTENT "${includes}")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-x;c++-header;-fpch-instantiate-templates")
    set_target_properties(${target} PROPERTIES
                          LAKE_SET ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/${target}.cc.o)
  endif()
endfunction()

# lake_compile_tests(<target>): compiled as tests are, which take longer to compile than to run.
function(lake_compile_tests target)
  if(TARGET ${target} AND CMAKE_BUILD_TYPE STREQUAL "Dev")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# lake_use_precompiled(<target> <set>): for the sources that the target has by now.
function(lake_use_precompiled target set)
  if(NOT LAKE_PRECOMPILE)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} REUSE_FROM ${set})
    return()
  endif()
  get_target_property(headers ${set} LAKE_SET)
  get_target_property(sources ${target} SOURCES)
  file(RELATIVE_PATH name ${CMAKE_BINARY_DIR} ${headers})
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -include-pch ${name})
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${headers})
endfunction()

lake_make_precompiled(lake_precompiled lake::arrow fmt::fmt HEADERS ${lake_precompiled})
lake_make_precompiled(lake_precompiled_tests lake::arrow fmt::fmt GTest::gmock
                      HEADERS ${lake_precompiled} <gmock/gmock.h> <gtest/gtest.h>)
lake_compile_tests(lake_precompiled_tests)
