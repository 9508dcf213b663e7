# Frames per second from the cycle model beside the document's table (docs/sac/performance.md).
.PHONY: fps
fps: ## debugging | print frames per second beside the published ones | computes them for the shift-add engine \
    from its cycle model: make DUT=sac fps; MHZ=200: the clock; SIDE=224: width and height of the input; \
    NETS="a.param b.param": other topologies
	@$(PYTHON) designs/sac/tools/fps.py $(if $(MHZ),--mhz $(MHZ)) $(if $(SIDE),--side $(SIDE)) $(NETS)
