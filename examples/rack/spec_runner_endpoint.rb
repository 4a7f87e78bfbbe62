# frozen_string_literal: true

require "json"
require "proctor/controller"

# Runs the specs of a project on request and tells all subscribers what happens. One run at a time.
class SpecRunnerEndpoint
  # A request that cannot be answered now.
  class Busy < StandardError; end

  def initialize(root: Dir.pwd, worker_count: 4)
    @root = root
    @worker_count = worker_count
    @controller = nil
    @mutex = Mutex.new
    @subscribers = []
  end

  # POST /specs/run
  def start_run(spec_paths)
    @mutex.synchronize do
      raise Busy, "Run already in progress" if @controller&.status == :running

      @controller = Proctor::Controller.new(worker_count: @worker_count, fail_fast: false, root: @root)
      @controller.on_event { |type, payload| broadcast({ event: type, data: payload }) }
      @controller.on_progress do |completed, total, failures|
        broadcast({ event: "progress", data: { completed: completed, total: total, failures: failures } })
      end
      @controller.start(spec_paths)
    end
    { status: "started" }
  end

  # GET /specs/progress
  def get_progress # rubocop:disable Naming/AccessorMethodName
    controller = @mutex.synchronize { @controller }
    controller ? controller.progress : { status: "idle" }
  end

  # GET /specs/result: what became of the last run
  def get_result # rubocop:disable Naming/AccessorMethodName
    result = @mutex.synchronize { @controller }&.results
    result ? result.to_h : { status: get_progress[:status] }
  end

  # POST /specs/cancel
  def cancel_run
    controller = @mutex.synchronize { @controller }
    return { status: "not_running" } unless controller&.status == :running

    controller.cancel
    { status: controller.status }
  end

  # A queue that receives the JSON text of every message from now on.
  def subscribe
    Queue.new.tap { |queue| @mutex.synchronize { @subscribers += [queue] } }
  end

  def unsubscribe(queue)
    @mutex.synchronize { @subscribers -= [queue] }
  end

  private

  # Callbacks come from one thread, one at a time. `@subscribers` is replaced and never changed, so no lock is needed here.
  def broadcast(message)
    text = JSON.generate(message)
    @subscribers.each { |queue| queue << text }
  end
end
