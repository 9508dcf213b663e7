# Functional coverage (docs/coverage.md).
.PHONY: cov-cost
cov-cost: ## instructions of a sample of a covergroup (valgrind, seconds)
	@mkdir -p $(BUILD)/cov
	@$(CC) -std=c11 -D_GNU_SOURCE= -O2 -I. coverage/*.c bench/cov_cost.c -o $(BUILD)/cov/cost
	@for n in 1000 11000; do \
	  valgrind --tool=callgrind --callgrind-out-file=/dev/null $(BUILD)/cov/cost $$n 2>&1 | awk '/Collected/ { print $$NF }'; \
	done | awk 'NR == 1 { first = $$1 } NR == 2 { printf "%.0f instructions a sample of 8 coverpoints and 2 crosses\n", ($$1 - first) / 10000 }'
