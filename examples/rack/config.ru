# frozen_string_literal: true

# Runs specs from a web page or a script:
#
#   PROJECT=~/shop PROCTOR_BIN=target/debug/proctor puma -b tcp://127.0.0.1:9292 -I ruby/lib examples/rack/config.ru
#   curl -N http://127.0.0.1:9292/specs/events &
#   curl -d '{"paths": ["spec"]}' http://127.0.0.1:9292/specs/run
#
# It is meant for one's own machine: whoever can reach the port can run the specs.

require_relative "spec_runner_endpoint"

# Messages as server-sent events, until the client leaves.
class EventStream
  def initialize(endpoint)
    @endpoint = endpoint
    @queue = endpoint.subscribe
  end

  def each
    # The headers reach the client with the first bytes, so that it knows when it is subscribed.
    yield ": subscribed\n\n"
    loop { yield "data: #{@queue.pop}\n\n" }
  end

  def close
    @endpoint.unsubscribe(@queue)
  end
end

endpoint = SpecRunnerEndpoint.new(root: ENV.fetch("PROJECT", Dir.pwd), worker_count: Integer(ENV.fetch("WORKERS", "4")))
json = ->(status, body) { [status, { "content-type" => "application/json" }, [JSON.generate(body)]] }

application = lambda do |env|
  # A page of another site can make a browser send requests here.
  origin = env["HTTP_ORIGIN"]
  next json.call(403, error: "requests of other sites are refused") unless origin.nil? || origin == "http://#{env["HTTP_HOST"]}"

  case [env["REQUEST_METHOD"], env["PATH_INFO"]]
  in ["POST", "/specs/run"]
    body = env["rack.input"].read
    paths = body.empty? ? [] : JSON.parse(body).fetch("paths", [])
    json.call(202, endpoint.start_run(paths))
  in ["GET", "/specs/progress"] then json.call(200, endpoint.get_progress)
  in ["GET", "/specs/result"] then json.call(200, endpoint.get_result)
  in ["POST", "/specs/cancel"] then json.call(200, endpoint.cancel_run)
  in ["GET", "/specs/events"]
    [200, { "content-type" => "text/event-stream", "cache-control" => "no-store" }, EventStream.new(endpoint)]
  else json.call(404, error: "no such address")
  end
rescue SpecRunnerEndpoint::Busy => error
  json.call(409, error: error.message)
rescue JSON::ParserError
  json.call(400, error: "the body is not JSON")
end

run application
