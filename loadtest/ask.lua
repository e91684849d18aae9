-- What wrk asks: wrk -s ask.lua URL -- FILE DEPTH FIRST
--
-- FILE has one target on each line; they are asked in turn, DEPTH of them per write, from the
-- first again after the last. Ten '#' in a target are replaced by a serial number that begins at
-- FIRST and is never given twice. Ends in one line of JSON; times are microseconds.
--
-- All that can be is made before the run: while it lasts, wrk only takes the next ready text.

local MARK = "##########"
local batches = {}
local turn, serial = 0, 0

local function numbered(text)
    return (text:gsub(MARK, function()
        serial = serial + 1
        return string.format("%010d", serial)
    end))
end

function init(args)
    local depth = tonumber(args[2])
    serial = tonumber(args[3])
    local batch = {}
    for target in io.lines(args[1]) do
        batch[#batch + 1] = wrk.format("GET", target)
        if #batch == depth then
            batches[#batches + 1] = table.concat(batch)
            batch = {}
        end
    end
    if batches[1]:find(MARK, 1, true) then
        request = function()
            turn = turn % #batches + 1
            return numbered(batches[turn])
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
