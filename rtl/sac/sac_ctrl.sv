// The states of a task: sizes (setup), input_reading unless the input is in the cache, filter_preloading, conving, then
// the drain (sequencer_idle). An error response does not stop a task; ABORT, which is also a state, drops everything
// that is in flight. The counters of the registers count here.
//
// start_i takes task_i; task_o and geom_o hold from then on. go_o pulses when the sizes are known to be legal: all
// units begin with the task but the three that have a moment of their own (input_start_o, preload_start_o,
// seq_start_o). done_o pulses at the end with code_o.
// Document: docs/sac/sac.md section 4.
module sac_ctrl #(
  parameter int unsigned WVec = 3,
  parameter int unsigned CVec = 2,
  parameter int unsigned NVec = 2,
  parameter int unsigned CachePages = 4096
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  logic                 abort_i,
  input  sac_pkg::layer_task_t task_i,
  output logic                 busy_o,
  output logic                 done_o,
  output logic [          2:0] code_o,
  output logic [        191:0] cycles_o,
  // the task
  output sac_pkg::layer_task_t task_o,
  output sac_pkg::geom_t       geom_o,
  output logic                 clr_o,
  output logic                 go_o,
  output logic                 input_start_o,
  output logic                 preload_start_o,
  output logic                 seq_start_o,
  output logic [         11:0] drained_o,  // batches that have left
  // what happens to it
  input  logic                 input_done_i,
  input  logic                 loaded_i,     // there are filters
  input  logic                 seq_done_i,
  input  logic                 batch_out_i,
  input  logic                 idle_i,       // nothing is in flight at the masters
  input  logic [          2:0] err_i,
  input  logic                 ev_conv_i,
  input  logic                 ev_load_i,
  input  logic                 ev_write_i
);

  localparam logic [2:0] Idle = 3'd0;
  localparam logic [2:0] Setup = 3'd1;
  localparam logic [2:0] Input = 3'd2;
  localparam logic [2:0] Preload = 3'd3;
  localparam logic [2:0] Conv = 3'd4;
  localparam logic [2:0] Drain = 3'd5;
  localparam logic [2:0] Abort = 3'd6;
  logic [2:0] state_q;
  sac_pkg::layer_task_t task_q;
  logic start_q;  // task_q is new
  logic setup_done;
  logic setup_ok;
  logic [11:0] drained_q;
  // cycles in which all is idle: error pulses come a cycle late, and after an abort the array must run empty
  logic [6:0] idle_q;
  logic idle_end;
  logic [2:0] err_q;
  assign busy_o = state_q != Idle;
  assign task_o = task_q;
  assign drained_o = drained_q;
  assign clr_o = state_q == Abort;
  assign go_o = state_q == Setup && setup_done && setup_ok;
  assign input_start_o = go_o && !task_q.src_cache;
  assign preload_start_o = (go_o && task_q.src_cache) || input_done_i;
  assign seq_start_o = state_q == Preload && loaded_i;
  assign idle_end = idle_q == (state_q == Abort ? 7'(NVec + 12) : 7'd3);
  assign done_o = !abort_i && ((state_q == Setup && setup_done && !setup_ok) || (state_q == Drain && idle_end) ||
      (state_q == Abort && idle_end));
  assign code_o = state_q == Setup ? sac_pkg::CodeConfig : state_q == Abort ? sac_pkg::CodeAborted :
      err_q[0] ? sac_pkg::CodeReadF : err_q[1] ? sac_pkg::CodeReadW : err_q[2] ? sac_pkg::CodeWrite : sac_pkg::CodeOk;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      task_q <= '0;
      start_q <= 1'b0;
      drained_q <= '0;
      idle_q <= '0;
      err_q <= '0;
    end else begin
      start_q <= start_i;
      if (start_i) begin
        state_q <= Setup;
        task_q <= task_i;
        err_q <= '0;
      end else begin
        err_q <= err_q | err_i;
        case (state_q)
          Setup: if (setup_done) state_q <= !setup_ok ? Idle : task_q.src_cache ? Preload : Input;
          Input: if (input_done_i) state_q <= Preload;
          Preload: if (seq_start_o) state_q <= Conv;
          Conv: if (seq_done_i) state_q <= Drain;
          Drain: if (done_o) state_q <= Idle;
          Abort: if (done_o) state_q <= Idle;
          default: state_q <= Idle;
        endcase
        if (abort_i) state_q <= Abort;
      end
      if (go_o) drained_q <= '0;
      else if (batch_out_i) drained_q <= drained_q + 12'd1;
      if (state_q == Drain && (drained_q != geom_o.batches || !idle_i)) idle_q <= '0;
      else if (state_q == Abort && !idle_i) idle_q <= '0;
      else if (state_q == Drain || state_q == Abort) idle_q <= idle_end ? idle_q : idle_q + 7'd1;
      else idle_q <= '0;
    end
  end

  // ---- counters ----
  logic [191:0] cycles_q;
  logic [5:0] event_now;
  assign event_now = {
    ev_write_i, ev_load_i, state_q == Setup || state_q == Drain, ev_conv_i, state_q == Preload, state_q == Input
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else if (start_i) cycles_q <= '0;
    else if (event_now != '0)
      for (int unsigned i = 0; i < 6; i++) cycles_q[32*i+:32] <= cycles_q[32*i+:32] + {31'd0, event_now[i]};
  end

  assign cycles_o = cycles_q;

  sac_setup #(
    .WVec(WVec),
    .CVec(CVec),
    .NVec(NVec),
    .CachePages(CachePages)
  ) u_setup (
    .clk_i,
    .rst_ni,
    .clr_i(clr_o),
    .start_i(start_q),
    .task_i(task_q),
    .done_o(setup_done),
    .ok_o(setup_ok),
    .geom_o
  );

endmodule
