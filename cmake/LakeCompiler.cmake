# Compiler settings shared by every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(LAKE_CORE_ONLY "Build only the modules that do not need DuckDB" OFF)
option(LAKE_FUZZ "Build the libFuzzer targets" OFF)
option(LAKE_PRECOMPILE "Precompile the headers of libraries (LakePrecompiled.cmake)" ON)
set(LAKE_SANITIZER "" CACHE STRING "address or thread")

# Dev keeps assertions and short compile times; see CMakePresets.json.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG" CACHE STRING "" FORCE)

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Werror=unused-result -Werror=return-type
                    # The same object is produced in every clone, so that ccache hits across folders.
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Every server processor since 2013; kernels that want more dispatch at run time.
  add_compile_options(-march=x86-64-v3)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # g++ warns of deprecated functions, but not of those that its own library calls.
  add_compile_options(-Wthread-safety -Werror=thread-safety -Wno-deprecated-declarations
                      -Wno-missing-designated-field-initializers)
endif()

if(LAKE_SANITIZER STREQUAL "address")
  # Not optimised: instrumented code takes far longer to compile with -O1.
  add_compile_options(-O0 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(LAKE_ADDRESS_SANITIZER)
elseif(LAKE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(LAKE_THREAD_SANITIZER)
elseif(LAKE_SANITIZER)
  message(FATAL_ERROR "LAKE_SANITIZER must be 'address' or 'thread', not '${LAKE_SANITIZER}'")
endif()
if(LAKE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fsanitize=address,undefined -fprofile-instr-generate)
  add_compile_definitions(LAKE_ADDRESS_SANITIZER)
endif()

find_program(LAKE_CCACHE ccache)
if(LAKE_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(LAKE_PRECOMPILE)
    list(APPEND launcher CCACHE_SLOPPINESS=pch_defines,time_macros)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # clang's precompiled headers hold full paths: this one is right in every clone.
      list(APPEND launcher PWD=/proc/self/cwd)
    endif()
  endif()
  list(APPEND launcher ${LAKE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(LAKE_MOLD mold)
if(LAKE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
