#pragma once

#include <gtest/gtest.h>

#include "lake/base/error.h"

#define ASSERT_OK(expression)                                          \
  do {                                                                 \
    ::arrow::Status assert_ok_status = ::arrow::ToStatus(expression);  \
    ASSERT_TRUE(assert_ok_status.ok()) << assert_ok_status.ToString(); \
  } while (false)

#define EXPECT_CODE(code, expression)                                    \
  do {                                                                   \
    ::arrow::Status expect_code_status = ::arrow::ToStatus(expression);  \
    ASSERT_FALSE(expect_code_status.ok());                               \
    EXPECT_EQ(::lake::ErrorCodeName(code),                               \
              ::lake::ErrorCodeName(::lake::CodeOf(expect_code_status))) \
        << expect_code_status.ToString();                                \
  } while (false)
