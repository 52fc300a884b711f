# lake_module(<name> [USES module...] [LINKS private library...] [PROTOS file...] [PRECOMPILED set])
#
# One folder, one static library lake::<name>, one test program lake_<name>_test.
#   *.cc           the library
#   *_test.cc      the test program, registered with ctest as <name>, or as asan.<name> if LAKE_TEST_ASAN
#                  has it: then it is the program of the asan-core build
#   testing/*.cc   lake::<name>_testing: fakes and wrappers that other modules' tests may link
# Files are found by name, so a test file cannot be forgotten. PRECOMPILED <set>: of headers, another than the usual one.
function(lake_module name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "USES;LINKS;PROTOS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
  file(GLOB fuzzers CONFIGURE_DEPENDS *_fuzzer.cc)
  list(REMOVE_ITEM sources ${tests} ${fuzzers})
  if(NOT sources)
    # A module that has only headers (yet) still is a target that others can name.
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}_headers_only.cc)
    file(GENERATE OUTPUT ${sources} CONTENT "")
  endif()

  set(target lake_${name})
  add_library(${target} STATIC ${sources})
  add_library(lake::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  list(TRANSFORM ARG_USES PREPEND lake:: OUTPUT_VARIABLE uses)
  target_link_libraries(${target} PUBLIC lake::arrow ${uses} PRIVATE fmt::fmt ${ARG_LINKS})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED lake_precompiled)
  endif()
  lake_use_precompiled(${target} ${ARG_PRECOMPILED})

  if(ARG_PROTOS)
    lake_protobuf(${target} ${ARG_PROTOS})
  endif()

  file(GLOB testing CONFIGURE_DEPENDS testing/*.cc)
  set(test_support ${target})
  if(testing)
    add_library(${target}_testing STATIC ${testing})
    add_library(lake::${name}_testing ALIAS ${target}_testing)
    target_link_libraries(${target}_testing PUBLIC ${target} GTest::gtest PRIVATE fmt::fmt ${ARG_LINKS})
    lake_compile_tests(${target}_testing)
    lake_use_precompiled(${target}_testing lake_precompiled_tests)
    list(APPEND test_support ${target}_testing)
  endif()
  foreach(module ${ARG_USES})
    if(TARGET lake_${module}_testing)
      list(APPEND test_support lake_${module}_testing)
    endif()
  endforeach()

  if(name IN_LIST LAKE_TEST_ASAN)
    lake_add_gtest(asan.${name} ${CMAKE_SOURCE_DIR}/build/asan-core/bin/${target}_test)
  elseif(tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE ${test_support} fmt::fmt ${ARG_LINKS} GTest::gmock GTest::gtest_main)
    lake_compile_tests(${target}_test)
    lake_use_precompiled(${target}_test lake_precompiled_tests)
    # Tests run in the source root, so that no object file depends on where the clone lies.
    target_compile_definitions(${target}_test PRIVATE LAKE_SOURCE_DIR=".")
    lake_add_gtest(${name} ${target}_test)
  endif()

  if(LAKE_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(fuzzer_name ${fuzzer} NAME_WE)
      add_executable(${fuzzer_name} ${fuzzer})
      target_link_libraries(${fuzzer_name} PRIVATE ${test_support} fmt::fmt ${ARG_LINKS})
      target_link_options(${fuzzer_name} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# lake_add_gtest(<name> <program>): registers a test program; its results go to build/<preset>/results/.
function(lake_add_gtest name program)
  add_test(NAME ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
           COMMAND ${program} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${name}.xml)
  # Prebuilt libraries are not instrumented, so containers that cross into them look overflown.
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 ENVIRONMENT
                       "ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# lake_protobuf(<target> <proto>...): compiles message files; includes are "<path>.pb.h" from the source root.
function(lake_protobuf target)
  foreach(proto ${ARGN})
    get_filename_component(stem ${proto} NAME_WE)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(generated ${CMAKE_BINARY_DIR}/generated/${folder}/${stem}.pb)
    add_custom_command(
      OUTPUT ${generated}.cc ${generated}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}/generated
              ${CMAKE_SOURCE_DIR}/${folder}/${proto}
      DEPENDS ${proto})
    target_sources(${target} PRIVATE ${generated}.cc)
    set_source_files_properties(${generated}.cc PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()
