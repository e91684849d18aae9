-- What wrk asks: wrk -s ask.lua URL -- FILE DEPTH
--
-- FILE has one target on each line; they are asked in turn, DEPTH of them per write, from the
-- first again after the last. Ends in one line of JSON; times are microseconds.
--
-- All that can be is made before the run: while it lasts, wrk only takes the next ready text.

local batches = {}
local turn = 0

function init(args)
    local depth = tonumber(args[2])
    local batch = {}
    for target in io.lines(args[1]) do
        batch[#batch + 1] = wrk.format("GET", target)
        if #batch == depth then
            batches[#batches + 1] = table.concat(batch)
            batch = {}
        end
    end
end

function request()
    turn = turn % #batches + 1
    return batches[turn]
end

function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.timeout
    io.write(string.format(
        '{"answered": %d, "seconds": %.6f, "wrong": %d, "failed": %d, "latency": '
            .. '{"p50": %.0f, "p90": %.0f, "p99": %.0f, "max": %.0f}}\n',
        summary.requests, summary.duration / 1e6, errors.status, failed,
        latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max))
end
