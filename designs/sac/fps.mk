# Frames per second from the cycle model beside the document's table (docs/sac/performance.md).
.PHONY: fps
fps: ## frames per second from the cycle model beside the published ones: make DUT=sac fps [MHZ=200] [SIDE=224] \
    [NETS="a.param b.param"]
	@$(PYTHON) designs/sac/tools/fps.py $(if $(MHZ),--mhz $(MHZ)) $(if $(SIDE),--side $(SIDE)) $(NETS)
