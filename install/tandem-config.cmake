# tandem-config.cmake: the library as tandem::tandem, and
#
#   tandem_program(TARGET TOP module RTL file... SOURCES file... [PARAMS Name=value...] [VERILATOR_ARGS arg...] [TRACE])
#
# a program: the design Verilated (verilate() of Verilator's own package), its ports as a table for C, the C sources and
# the framework. TRACE: with FST waveforms. Where the folder has designs/NAME/design, its scoreboards are in
# design_boards.h.
get_filename_component(TANDEM_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(verilator REQUIRED HINTS $ENV{VERILATOR_ROOT} ${VERILATOR_ROOT} /usr/share/verilator)

if(NOT TARGET tandem::tandem)
  add_library(tandem::tandem STATIC IMPORTED)
  set_target_properties(tandem::tandem PROPERTIES
    IMPORTED_LOCATION "${TANDEM_ROOT}/lib/libtandem.a"
    INTERFACE_INCLUDE_DIRECTORIES "${TANDEM_ROOT}/include/tandem"
    INTERFACE_LINK_LIBRARIES "jansson;z;m;pthread;atomic")
endif()

function(tandem_program TARGET)
  cmake_parse_arguments(T "TRACE" "TOP" "RTL;SOURCES;PARAMS;VERILATOR_ARGS" ${ARGN})
  if(NOT T_TOP OR NOT T_RTL OR NOT T_SOURCES)
    message(FATAL_ERROR "tandem_program(${TARGET}): expected TOP module RTL file... SOURCES file...")
  endif()
  list(TRANSFORM T_PARAMS PREPEND "-G")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${TARGET}.verilated")
  set(trace $<0:>)
  if(T_TRACE)
    set(trace TRACE_FST)
    list(APPEND T_VERILATOR_ARGS --trace-structs)
  else()
    set(trace)
  endif()
  # as in tandem.mk: linting the design is a step of its own, here only errors stop the build
  add_executable(${TARGET} ${T_SOURCES})
  verilate(${TARGET} ${trace} PREFIX V${T_TOP} TOP_MODULE ${T_TOP} DIRECTORY "${folder}" SOURCES ${T_RTL}
    VERILATOR_ARGS --unroll-count 1024 --assert --x-assign fast --x-initial unique -Wno-lint -Wno-style
    ${T_PARAMS} ${T_VERILATOR_ARGS})
  execute_process(COMMAND /usr/bin/python3 "${TANDEM_ROOT}/share/tandem/gen_shim.py" --top ${T_TOP}
    --header "${folder}/V${T_TOP}.h" --output "${folder}/shim.cpp"
    --read verilator --unroll-count 1024 ${T_PARAMS} ${T_VERILATOR_ARGS} --top-module ${T_TOP} ${T_RTL}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "tandem_program(${TARGET}): no table of the ports of ${T_TOP}")
  endif()
  file(GLOB descriptions "${CMAKE_CURRENT_SOURCE_DIR}/designs/*/design")
  if(descriptions)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${descriptions})
    execute_process(COMMAND ${CMAKE_COMMAND} -E env "TANDEM_PROJECT=${CMAKE_CURRENT_SOURCE_DIR}" DESIGNS=
      /usr/bin/python3 "${TANDEM_ROOT}/share/tandem/design.py" boards
      OUTPUT_FILE "${folder}/design_boards.h" RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "tandem_program(${TARGET}): the description of ${CMAKE_CURRENT_SOURCE_DIR} was not read")
    endif()
    target_include_directories(${TARGET} PRIVATE "${folder}" "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  target_sources(${TARGET} PRIVATE "${folder}/shim.cpp")
  target_compile_features(${TARGET} PRIVATE cxx_std_17)
  target_compile_definitions(${TARGET} PRIVATE VL_USER_FINISH VL_USER_STOP VL_USER_FATAL)
  target_compile_options(${TARGET} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-w;-faligned-new;-I${folder};-I${TANDEM_ROOT}/include/tandem>")
  # what the runtime prints goes to the shim; nothing else may see the macros
  get_target_property(sources ${TARGET} SOURCES)
  list(FILTER sources INCLUDE REGEX "/verilated[a-z_]*\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-includesim/vl_printf.h")
  target_link_libraries(${TARGET} PRIVATE tandem::tandem)
  set_target_properties(${TARGET} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
