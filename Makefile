# Commands for developers; users need ./run and ./test only.
.DEFAULT_GOAL := help
.PHONY: help chart dist packages release docs site generators words setup run test e2e lowest check ci asan tsan bare sql fuzz load lock fmt tidy clean

export PATH := $(CURDIR)/.venv/bin:$(PATH)

help: ## list these commands
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 10

setup: ## make .venv with all tools; the core is built with assertions
	sh config/bootstrap.sh dev

run: ## serve the demo on a temporary database; start again when a file changes
	data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && ./run --data "$$data" --reload

test: ## the fast tests: C, unit, wire, bridge
	./test core unit wire bridge

e2e: ## the tests of the whole program from outside, and in a browser
	./test e2e e2e_commands widget widget_sites

lowest: ## unit and e2e tests with the lowest versions of all dependencies, on the oldest Python here
	./test lowest

check: ## format, lint, types, the C module's stub
	./test check

ci: ## all that CI does
	.ci/run

asan: ## the C tests under AddressSanitizer and UndefinedBehaviorSanitizer
	./test asan

tsan: ## the C tests under ThreadSanitizer
	test -e build/tsan/build.ninja || meson setup build/tsan -Dtests=true -Db_sanitize=thread -Db_lundef=false
	meson test -C build/tsan --timeout-multiplier=4 --print-errorlogs

chart: ## let helm and Kubernetes' schemas judge config/helm (needs Go; the first time takes minutes)
	sh config/kubernetes.sh
	./test tests/image/test_chart.py

bare: ## ./run and ./test in a bare Debian 12, Debian 13 and Ubuntu 24.04 (as root)
	python -m tests.bare.system

sql: ## let PostgreSQL plan the queries that the unit tests run (needs Debian's postgresql)
	PLAN_QUERIES=1 ./test unit unit_data

T = 60
fuzz: ## the fuzz targets, all at once, for T=60 seconds
	FUZZ_SECONDS=$(T) ./test -s tests/fuzz

load: ## measure the server (python -m loadtest --help names all commands)
	sh config/bootstrap.sh
	.venv/bin/python -m loadtest scenarios

dist: ## build the source archive and the wheel, in dist/
	sh config/dist.sh

packages: ## build the Debian and the RPM package, in dist/
	sh config/dist.sh
	sh config/package/build.sh dist/*.whl dist

release: ## make everything that a release publishes, in dist/, of a commit with a tag
	sh config/release.sh

docs: ## write docs/api.md and the schema of exports anew from the code
	.venv/bin/python -m docs.generate

site: ## build the manual as a site, in dist/manual
	sh config/bootstrap.sh dist
	.venv/bin/python config/manual/build.py

generators: ## build a blog by each recipe of docs/generators.md
	sh config/bootstrap.sh test
	python3 -m venv build/more_generators/python
	build/more_generators/python/bin/pip install -q --require-hashes -r config/more_generators/requirements.txt
	GENERATORS=all .venv/bin/python -m pytest -q -p no:cacheprovider tests/widget/test_recipes.py

words: ## bring the translations (po/) in line with the texts of the sources
	python po/catalogues.py update

lock: ## renew config/requirements: the newest versions that pyproject.toml allows, and their hashes
	sh config/lock.sh

fmt: ## format all sources
	ruff format .
	ruff check --fix .
	find core tests loadtest -name '*.[ch]' -exec clang-format -i {} +

tidy: ## clang-tidy with the list in .clang-tidy
	clang-tidy -p build/cp3* --quiet core/*/*.c

clean: ## remove what was built; .venv and var/ stay
	rm -rf build dist
	rm -f .venv/stamp-*
