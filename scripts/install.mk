# Installation: what a project around a design of its own needs (docs/install.md).
VERSION := $(shell cat VERSION)
PREFIX ?= /usr/local
DESTDIR ?=

# the command tandem, without a design
OBJ_command := $(HOST)/obj/install/tandem.o
-include $(call deps,$(OBJ_command:.o=.d))
$(OBJ_command): CFLAGS += -DTANDEM_VERSION='"$(VERSION)"'
$(OBJ_command): VERSION
$(HOST)/tandem: $(OBJ_command) $(HOST)/libtandem.a $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(REFUSALS_NOTED) $(filter %.o,$^) $(filter %.a,$^) -ljansson -lz -lm -lpthread)

# the framework as one library
TANDEM_PARTS := tb opt report alloc coverage covcode covbench
TANDEM_OBJ := $(foreach l,$(TANDEM_PARTS),$(OBJ_$(l)))
$(HOST)/libtandem.a: $(TANDEM_OBJ) $(TANDEM_PARTS:%=$(HOST)/lib%.list)
	@$(call archive,$(TANDEM_OBJ))
host: $(HOST)/tandem

# portable code in a build folder of its own; ARCH= on the command line or in the environment says otherwise
INSTALL_BUILD := $(BUILD)/install
INSTALLED := libtandem.a tandem tandem-regress tandem-cov
.PHONY: install deb recording
install: ## every day | install programs, library, headers for projects elsewhere | also installs the make \
    fragment, the CMake package and man pages (docs/install.md); PREFIX=/usr/local: where to, below DESTDIR=; \
    ARCH=native: code for this machine only
	@ARCH="$(if $(call given,ARCH),$(ARCH))" BUILD=$(INSTALL_BUILD) scripts/build.sh BUILD=$(INSTALL_BUILD) KIND=fast \
	  SAN= $(INSTALLED:%=$(INSTALL_BUILD)/host/%)
	@$(PYTHON) install/install.py --host $(INSTALL_BUILD)/host --prefix "$(PREFIX)" --destdir "$(DESTDIR)" \
	  --version $(VERSION)

deb: ## every day | build the Debian package, in build/deb | lintian checks the package, if it is installed \
    (make deps-dev)
	@MAKE_COMMAND="$(MAKE)" install/deb.sh $(BUILD)/deb $(VERSION)

recording: deb ## every day | record the session of docs/install.md | uses nothing but the unpacked Debian \
    package, and writes docs/images/project.svg and project.png
	@tools/recording.sh $(BUILD)/deb/tandem_$(VERSION)_$$(dpkg --print-architecture).deb $(BUILD)/recording \
	  docs/images/project.svg docs/images/project.png
