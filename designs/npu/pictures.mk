.PHONY: pictures
pictures: ## every day | record the session of README.md | a bug in a copy of the tree in BUILD/pictures: \
    docs/failure.svg, docs/images/report.png (chromium: make deps-dev)
	@designs/npu/tools/pictures.sh $(BUILD)/pictures
