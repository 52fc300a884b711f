# What `cmake --install` gives: bin/lake, which finds its libraries in ../lib. scripts/dist adds those.
if(TARGET lake)
  include(GNUInstallDirs)
  # RPATH rather than RUNPATH: it also serves the libraries of the libraries.
  set_target_properties(lake PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(lake PRIVATE -Wl,--disable-new-dtags)
  install(TARGETS lake RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
