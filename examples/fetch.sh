#!/bin/sh
# fetch.sh - designs that these benches are for: public sources of others, fetched at fixed commits, never committed.
# usage: fetch.sh [FOLDER]   a folder with clones of the repositories, instead of the network
set -eu
cd "$(dirname "$0")"
from=${1:-}

# get OWNER REPOSITORY COMMIT: its sources in .sources/REPOSITORY
get() {
    [ -e ".sources/$2/README.md" ] && return
    rm -rf ".sources/$2"
    git clone -q --no-checkout "${from:-https://github.com/$1}/$2" ".sources/$2"
    git -C ".sources/$2" checkout -q "$3"
}
# put EXAMPLE REPOSITORY FILE ...
put() {
    example=$1 repository=$2
    shift 2
    mkdir -p "$example/rtl"
    for file; do
        cp ".sources/$repository/"[rR][tT][lL]"/$file" "$example/rtl/"
    done
}

get alexforencich verilog-axi 516bd5dadc3365b7f9e225d2af8fe0b8d804fe53
get alexforencich verilog-axis 48ff7a7e2ef782cf778d47910cf85835c64b1bce
get WangXuan95 FPGA-Gzip-compressor d1838df20939281d84229b8bd39d09e03fe628ce
put axi_cdma verilog-axi axi_cdma.v
put axi_ram verilog-axi axi_ram.v
put axi_crossbar verilog-axi axi_crossbar.v axi_crossbar_addr.v axi_crossbar_rd.v axi_crossbar_wr.v axi_register_rd.v \
    axi_register_wr.v arbiter.v priority_encoder.v
put axis_async_fifo verilog-axis axis_async_fifo.v
put axis_adapter verilog-axis axis_adapter.v
put gzip_compressor FPGA-Gzip-compressor gzip_compressor_top.v calc_length_and_crc32.v convert_lz77_to_symbols.v \
    dist_huffman_builder.v elastic_fifo_for_output.v fifo2_for_input.v huffman_compress.v lz77_encoder.v \
    lz77_hash_table_ram.v lz77_past_byte_ram.v split_stream_to_block.v static_huffman_table.v symbol_huffman_builder.v
