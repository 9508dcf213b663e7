// Groups of post: which tiles are turned into results next, the state machine, and the FP32 jobs of a group.
//
// Order        Groups of G tiles. For each block of N output channels, for each group (wgt_res: for each group, for
//              each block). A group begins when all of its tiles are complete in ofm_buf (tile_i pulses for each).
// FP32         Each channel c = Chan, Chan+2, ... that exists: a request of write-back (wr_req_*), one of partial sums
//              (psum_req_*) when the task has some, both at a time, and then a job for post_stream with the channel's
//              factors, read from par_buf one cycle earlier. Jobs are issued ahead, so streams follow each other
//              directly.
// Requant      rq_o is up while post_tiles walks over the tiles of the group, until rq_done_i.
// free_o       A pulse: the group's last word has been read, free_tiles_o (the group) tiles are free again.
// INT16        (EnInt16, task_i.wide) A tile is two of those that tile_i, free_tiles_o and ofm_buf count, and a word
//              has two sums; group_tiles_o counts the tiles of the task. Partial sums, and a raw output, are int64.
// Document     docs/npu/npu.md sections 3.2 and 4.2.
`include "assert.svh"

module post_groups #(
  parameter int unsigned N = 8,
  parameter bit Chan = 1'b0,
  parameter int unsigned EnInt16 = 0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  input  npu_pkg::gemm_task_t       task_i,
  input  logic                      par_ready_i,
  input  logic                      task_done_i,
  input  logic                      tile_i,
  output logic                      free_o,
  output logic [npu_pkg::OfmAw:0]   free_tiles_o,
  output logic [npu_pkg::OfmAw:0]   group_tiles_o,
  // states
  output logic                      idle_o,           // no task
  output logic                      waits_o,          // every job of the task has been issued
  output logic                      begin_o,          // a group begins in the next cycle, if its tiles are complete
  output logic                      starved_o,        // begin_o, and they are not
  output logic                      rq_o,
  input  logic                      rq_done_i,
  output logic                      quiet_o,          // nothing changes at the next clock edge
  // the group
  output logic                      last_o,           // of the task
  output logic [16:0]               npix_o,           // pixels of the task
  output logic [16:0]               pix_o,            // first pixel
  output logic [15:0]               blk_o,            // block of N output channels
  output logic [npu_pkg::OfmAw:0]   ring_o,           // first word in each column of ofm_buf
  output logic [31:0]               blk_poffset_o,    // partial sums of the first channel that the unit reads
  output logic [31:0]               grp_addr_o,       // requant: address of pixel 4*Chan, this block
  input  logic [31:0]               grp_end_i,        // requant: the same of the pixel behind the group
  // factors
  output logic                      par_re_o,
  output logic [npu_pkg::ParAw-1:0] par_base_o,       // first word of the task
  output logic [npu_pkg::ParAw-1:0] par_chan_o,       // word of the job's channel, from there
  input  logic [127:0]              par_oscale_i,
  input  logic [127:0]              par_bias_i,
  // requests and job of a channel
  output logic                      psum_req_valid_o,
  input  logic                      psum_req_ready_i,
  output logic [31:0]               psum_req_offset_o,
  output logic                      wr_req_valid_o,
  input  logic                      wr_req_ready_i,
  output logic [31:0]               wr_req_offset_o,
  output logic [23:0]               job_req_bytes_o,  // of the output
  output logic [23:0]               psum_req_bytes_o,
  output logic                      job_push_o,
  input  logic                      job_ready_i,
  output logic [31:0]               job_oscale_o,
  output logic [31:0]               job_bias_o,
  output logic [$clog2(N)-2:0]      job_col_o,        // column of ofm_buf
  output logic [14:0]               job_words_o,
  input  logic                      streams_idle_i
);

  localparam int unsigned Ln = $clog2(N);
  localparam int unsigned Ow = npu_pkg::OfmAw + 1;               // word address within a column of ofm_buf
  localparam int unsigned TileWords = N / 2;                      // words of a tile in a column
  localparam int unsigned MaxGroup = (2 * npu_pkg::OfmDepth) / TileWords / 2;  // half of ofm_buf
  localparam int unsigned Tw = npu_pkg::OfmAw + 1;
  localparam int unsigned ParW = npu_pkg::ParAw;

  typedef enum logic [3:0] {Idle, Prep, Group, Job, Send, NextJob, Tiles, Next, Wait} state_e;
  state_e state_q;

  logic          wide;          // INT16
  logic          wide_out;      // results of 8 bytes
  logic [Tw-1:0] group_slots;   // as ofm_buf counts
  logic [31:0]   skip_pixels;   // requant: those of the other unit before the first one of this unit

  logic [15:0]   ocb;
  logic [16:0]   npix_q;
  logic [15:0]   blk_q;         // block of N output channels
  logic [16:0]   pix_q;         // first pixel of the group
  logic [16:0]   pix_left;
  logic [16:0]   tiles_left;
  logic [Tw-1:0] group_max;
  logic [Tw-1:0] group;         // tiles in this group
  logic [16:0]   group_pix;     // pixels in this group
  logic [Tw-1:0] avail_q;       // complete tiles
  logic [Ow-1:0] ring_q;        // first word of the group in each column
  logic [Ln-1:0] col_q;
  logic [15:0]   chan_q;        // output channel of the job within the task
  logic [31:0]   offset_q;      // of the job's first byte
  logic [31:0]   poffset_q;
  logic [31:0]   blk_offset_q;  // of channel Chan (partial sums with requant: channel 0) of the block
  logic [31:0]   blk_poffset_q;
  logic [31:0]   chan_offset_q;
  logic [31:0]   chan_poffset_q;
  logic [31:0]   grp_addr_q;    // requant: pixel 4*Chan of the group, this block
  logic [31:0]   grp0_addr_q;   // requant, wgt_res: the same, first block
  logic [ParW-1:0] par_base_q;
  logic          any_par;
  logic          chan_exists;
  logic          last_chan;
  logic          group_done;
  logic          last_group, last_blk, last_all;
  logic [1:0]    sent_q;        // {psum, write} request accepted
  logic          reqs_done;

  assign wide = EnInt16 != 0 && task_i.wide;
  assign skip_pixels = wide ? {task_i.ofm_cstep[30:0], 1'b0} : {task_i.ofm_cstep[29:0], 2'b00};
  assign wide_out = wide && task_i.raw_out;
  assign ocb = 16'((17'(task_i.oc) + 17'(N - 1)) >> Ln);
  assign pix_left = npix_q - pix_q;
  assign tiles_left = (pix_left + 17'(2 * N - 1)) >> (Ln + 1);
  always_comb begin
    group_max = task_i.group == 8'd0 ? Tw'(1) : Tw'(task_i.group);
    if (group_max > Tw'(MaxGroup) >> wide) group_max = Tw'(MaxGroup) >> wide;
    group = tiles_left < 17'(group_max) ? tiles_left[Tw-1:0] : group_max;
    group_slots = group << wide;
    group_pix = 17'(group) << (Ln + 1);
    if (pix_left < group_pix) group_pix = pix_left;
  end
  assign any_par = task_i.oscale_en || task_i.bias_en;
  assign chan_exists = chan_q < task_i.oc;
  assign last_chan = col_q >= Ln'(N - 2) || chan_q + 16'd2 >= task_i.oc;
  assign last_group = pix_left <= 17'(group) << (Ln + 1);
  assign last_blk = blk_q + 16'd1 == ocb;
  assign last_all = last_group && last_blk;

  // ---------------------------------------------------------------- requests and job of a channel
  logic [1:0]    lane;
  assign lane = chan_q[1:0];
  assign par_re_o = state_q == Job && chan_exists;
  assign par_base_o = par_base_q;
  assign par_chan_o = ParW'(chan_q >> 2);
  assign job_oscale_o = par_oscale_i[32*lane+:32];
  assign job_bias_o = par_bias_i[32*lane+:32];
  assign job_col_o = col_q[Ln-1:1];
  assign job_words_o = wide ? 15'((group_pix + 17'd1) >> 1) : 15'((group_pix + 17'd3) >> 2);
  assign reqs_done = (sent_q[0] || wr_req_ready_i) && (sent_q[1] || psum_req_ready_i || !task_i.psum_add);
  assign job_push_o = state_q == Send && reqs_done && job_ready_i;
  assign psum_req_valid_o = state_q == Send && task_i.psum_add && !sent_q[1];
  assign psum_req_offset_o = poffset_q;
  assign wr_req_valid_o = state_q == Send && !sent_q[0];
  assign wr_req_offset_o = offset_q;
  assign job_req_bytes_o = {5'd0, group_pix, 2'd0} << wide_out;
  assign psum_req_bytes_o = {5'd0, group_pix, 2'd0} << wide;

  // ---------------------------------------------------------------- groups
  // The group's tiles are free when its last word has been read, as reported by the stream side.
  assign group_done = (state_q == NextJob && (last_chan || !chan_exists) && streams_idle_i) ||
      (state_q == Tiles && rq_done_i);
  assign free_o = group_done;
  assign free_tiles_o = group_slots;
  assign group_tiles_o = group;
  assign idle_o = state_q == Idle;
  assign waits_o = state_q == Wait;
  assign begin_o = state_q == Group;
  assign starved_o = state_q == Group && avail_q < group_slots;
  assign rq_o = state_q == Tiles;
  assign last_o = last_all;
  assign npix_o = npix_q;
  assign pix_o = pix_q;
  assign blk_o = blk_q;
  assign ring_o = ring_q;
  assign blk_poffset_o = blk_poffset_q;
  assign grp_addr_o = grp_addr_q;
  always_comb begin
    case (state_q)
      Idle: quiet_o = !(task_valid_i && par_ready_i);
      Group: quiet_o = avail_q < group_slots;
      Wait: quiet_o = !task_done_i;
      default: quiet_o = 1'b0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      npix_q <= '0;
      blk_q <= '0;
      pix_q <= '0;
      ring_q <= '0;
      col_q <= '0;
      chan_q <= '0;
      offset_q <= '0;
      poffset_q <= '0;
      blk_offset_q <= '0;
      blk_poffset_q <= '0;
      chan_offset_q <= '0;
      chan_poffset_q <= '0;
      grp_addr_q <= '0;
      grp0_addr_q <= '0;
      par_base_q <= '0;
      sent_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          npix_q <= 17'(task_i.ow) * 17'(task_i.oh);
          blk_q <= '0;
          pix_q <= '0;
          if (task_valid_i && par_ready_i) state_q <= Prep;
        end
        Prep: begin
          blk_offset_q <= Chan ? task_i.ofm_cstep : 32'd0;
          blk_poffset_q <= Chan && !task_i.requant ? task_i.psum_cstep : 32'd0;
          grp_addr_q <= task_i.ofm_addr + (Chan ? skip_pixels : 32'd0);
          grp0_addr_q <= task_i.ofm_addr + (Chan ? skip_pixels : 32'd0);
          state_q <= Group;
        end
        Group: begin
          col_q <= Ln'(Chan);
          chan_q <= (blk_q << Ln) + 16'(Chan && !task_i.requant);
          chan_offset_q <= blk_offset_q;
          chan_poffset_q <= blk_poffset_q;
          if (avail_q >= group_slots) state_q <= task_i.requant ? Tiles : Job;
        end
        Job: begin  // reads the factors
          offset_q <= chan_offset_q + ({13'd0, pix_q, 2'd0} << wide_out);
          poffset_q <= chan_poffset_q + ({13'd0, pix_q, 2'd0} << wide);
          sent_q <= 2'b00;
          state_q <= chan_exists ? Send : NextJob;
        end
        Send: begin  // the factors have arrived; issue the requests, then the job
          if (wr_req_ready_i) sent_q[0] <= 1'b1;
          if (psum_req_valid_o && psum_req_ready_i) sent_q[1] <= 1'b1;
          if (job_push_o) state_q <= NextJob;
        end
        NextJob:
        if (!last_chan && chan_exists) begin
          col_q <= col_q + Ln'(2);
          chan_q <= chan_q + 16'd2;
          chan_offset_q <= chan_offset_q + {task_i.ofm_cstep[30:0], 1'b0};
          chan_poffset_q <= chan_poffset_q + {task_i.psum_cstep[30:0], 1'b0};
          state_q <= Job;
        end else if (streams_idle_i) begin
          state_q <= Next;
        end
        Tiles: if (rq_done_i) state_q <= Next;
        Next: begin
          ring_q <= ring_q + Ow'(32'(group_slots) * TileWords);
          state_q <= last_all ? Wait : Group;
          if (task_i.wgt_res ? last_blk : !last_group) begin  // next group
            pix_q <= pix_q + (17'(group) << (Ln + 1));
          end else if (!task_i.wgt_res) begin
            pix_q <= '0;
          end
          if (task_i.wgt_res ? !last_blk : last_group) begin  // next block
            blk_q <= blk_q + 16'd1;
            blk_offset_q <= blk_offset_q + (task_i.ofm_cstep << Ln);
            blk_poffset_q <= blk_poffset_q + (task_i.psum_cstep << Ln);
          end else if (task_i.wgt_res) begin
            blk_q <= '0;
            blk_offset_q <= Chan ? task_i.ofm_cstep : 32'd0;
            blk_poffset_q <= Chan && !task_i.requant ? task_i.psum_cstep : 32'd0;
          end
          // requant addresses: the walk of post_tiles has moved past the group
          if (task_i.wgt_res) begin
            grp_addr_q <= last_blk ? grp_end_i - (32'(blk_q) << Ln << wide) : grp_addr_q + (32'(N) << wide);
          end else begin
            grp_addr_q <= last_group ? grp0_addr_q + ((32'(blk_q) + 32'd1) << Ln << wide) : grp_end_i;
          end
        end
        default:
        if (task_done_i) begin
          if (any_par) par_base_q <= par_base_q + ParW'((task_i.oc + 16'd3) >> 2);
          state_q <= Idle;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) avail_q <= '0;
    else avail_q <= avail_q + Tw'(tile_i) - (free_o ? group_slots : '0);
  end

  `ASSERT(PostTilesRange, avail_q <= Tw'(2 * MaxGroup))

endmodule
