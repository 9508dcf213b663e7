#!/bin/sh
# fetch.sh - designs that these benches are for: public sources of others, fetched at fixed commits, never committed.
# usage: fetch.sh [FOLDER]   a folder with clones verilog-axi and verilog-axis, instead of the network
set -eu
cd "$(dirname "$0")"
from=${1:-https://github.com/alexforencich}

# get REPOSITORY COMMIT: its sources in .sources/REPOSITORY
get() {
    [ -e ".sources/$1/rtl" ] && return
    rm -rf ".sources/$1"
    git clone -q --no-checkout "$from/$1" ".sources/$1"
    git -C ".sources/$1" checkout -q "$2"
}
# put EXAMPLE REPOSITORY FILE ...
put() {
    example=$1 repository=$2
    shift 2
    mkdir -p "$example/rtl"
    for file; do
        cp ".sources/$repository/rtl/$file" "$example/rtl/"
    done
}

get verilog-axi 516bd5dadc3365b7f9e225d2af8fe0b8d804fe53
get verilog-axis 48ff7a7e2ef782cf778d47910cf85835c64b1bce
put axi_cdma verilog-axi axi_cdma.v
put axi_ram verilog-axi axi_ram.v
put axi_crossbar verilog-axi axi_crossbar.v axi_crossbar_addr.v axi_crossbar_rd.v axi_crossbar_wr.v axi_register_rd.v \
    axi_register_wr.v arbiter.v priority_encoder.v
put axis_async_fifo verilog-axis axis_async_fifo.v
put axis_adapter verilog-axis axis_adapter.v
