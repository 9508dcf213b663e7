"""Texts of the files that `tandem new` writes; %(name)s and the like are filled in by new_write.py."""

MAKEFILE = """# make help shows what there is. TANDEM: the command of an installation.
TANDEM ?= tandem
%(structs)sinclude $(shell $(TANDEM) --where)/tandem.mk
"""

SMOKE = """# smoke: registers before and after a reset, on every bus timing; nothing is sent into streams.
budget 30

test %(name)s cfg=base kind=%(kind)s count=2 cases=10 determinism=1 timeout=60 -- traffic=none%(simple)s
"""

DEFAULT = """# default: random transfers on the streams, too.
budget 120

test %(name)s cfg=base kind=%(kind)s count=2 cases=25 cover=2 code=1 determinism=1 timeout=120 -- traffic=none
test %(name)s cfg=base kind=%(kind)s count=4 cases=25 cover=4 code=2 timeout=120 -- traffic=random
"""

CLOSURE = """# closure: plain random jobs, from whose coverage `make closure` plans others.
test %(name)s cfg=base kind=%(kind)s count=400 cases=5 index=100000000
"""

THRESHOLDS = """# What `make coverage` asks of functional coverage, in percent (tandem-cov gate).
total 0
illegal 0
"""

CODE_THRESHOLDS = """# What `make coverage` asks of code coverage, in percent (tandem-cov code gate): line,
# branch, toggle.
line 0
"""

BOARDS = """# scoreboards: board stream IN OUT, board keyed IN OUT, board fifo IN OUT DEPTH, board memory SLAVE MASTER,
# board fair REQUESTS GRANTS [LIMIT], board registers FILE.regs [REGISTER ...] (docs of the framework, ports.md)
"""

MUTANTS = """Deliberate bugs: each patch is applied to a copy of the project (`patch -p1`), and the suite must fail
there. `make mutants` tries all of them. `make qualify` makes bugs of all kinds itself.
"""

GITHUB = """name: verify
on: [push, pull_request]
jobs:
  verify:
    runs-on: ubuntu-latest
    container: debian:12
    steps:
      - uses: actions/checkout@v4
      - run: apt-get update
      - run: apt-get install -y --no-install-recommends build-essential verilator python3 libjansson-dev zlib1g-dev git
      # the Debian package of the framework, from wherever it is kept
      - run: apt-get install -y ./tandem_*.deb
      - run: make regress SUITE=smoke
      - run: make mutants
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: results, path: build/regress}
"""

GITLAB = """verify:
  image: debian:12
  script:
    - apt-get update
    - apt-get install -y --no-install-recommends build-essential verilator python3 libjansson-dev zlib1g-dev git
    # the Debian package of the framework, from wherever it is kept
    - apt-get install -y ./tandem_*.deb
    - make regress SUITE=smoke
    - make mutants
  artifacts:
    when: always
    paths: [build/regress]
    reports:
      junit: build/junit.xml
"""

TAPS = """# Units that checks follow (bench/check.c), and the signals that are looked at: a line is a module and what is
# tapped of it; +rst_ni=not(X), +rst_ni=bit(X): its reset.
%(line)s
"""

README_SHADOW = """\
- AXI slaves: random bursts (the knobs bursts, beats, ids, fixed, wrap, narrow, exclusive); what was written is
  read back, by whatever ID and port; a reset in the middle of them. The suite smoke leaves WRAP bursts out, which many
  memories take for INCR: `make run ARGS=wrap=1` tries them;
"""

README = """# %(name)s

A bench around the module `%(top)s`, written by `tandem new`. It needs Verilator, a C and a C++ compiler, make,
Python 3 and an installation of Tandem.

    make                          # the program, build/base-%(kind)s/tandem
    make regress                  # the suite smoke: builds, runs, pages in build/regress/RUN/report
    make regress SUITE=default    # with random transfers on the streams
    make run COUNT=100            # random cases; ARGS="traffic=random stall=50": pinned knobs
    make repro CASE=file          # a failing case again, with report and waveform: the line that a failure prints
    make wave RUN=1               # the waveform of the commonest failure of a run, in GTKWave
    make shrink CASE=file         # and made small
    make mutants                  # deliberate bugs (mutants/) must be found
    make qualify                  # hundreds of bugs in the RTL, in one build: which no check finds
    make coverage                 # knobs, buses, lines, branches, toggles: build/coverage/index.html
    make closure                  # jobs that aim at what is not covered yet
    make help

## What was found out, and guessed

%(said)s
Where a guess is wrong, change it in `bench/bench.c` (clocks, resets, ports, constants) and in
`designs/%(name)s/design`.

## What is checked already

- every rule of AXI on every bus that is driven, every assertion of the RTL, hangs (AXI, streams);
- error responses of memory (the knob `error`): every rule still holds and nothing hangs;
%(shadow)s- streams: what the design offers stays, unchanged, until it is taken; what the bench offers is taken. Where
  the bytes that go in come out again, say so in the description: `board stream IN OUT`;
- registers (from address 0 on) hold after a reset what they held after the first one, but for those that
  change by themselves (`model_later()`).

## What to write next

1. `bench/model.c`: what the design computes. `bench/driver.c`: how software uses it.
2. `bench/test.c`: a case that uses the driver, and a comparison with the model: `tb_pair_compare()` for
   memory, `tb_compare_registers()` for registers. Declare what a task may read and write (`tb_buffers`), and
   set `watch` and `check_reads` of the memory in `bench/bench.c`.
3. %(units)s
4. Bugs in `mutants/`. %(mutant)s
"""
