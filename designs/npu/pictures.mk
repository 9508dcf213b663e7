.PHONY: pictures
pictures: ## every day | record the session of README.md | plants a bug in a copy of the tree in BUILD/pictures, \
    and writes docs/failure.svg and docs/images/report.png (chromium: make deps-dev)
	@designs/npu/tools/pictures.sh $(BUILD)/pictures
