class SpecRunnerEndpoint
  def initialize
    @controller = nil
    @mutex = Mutex.new
  end

  # POST /specs/run
  def start_run(spec_paths)
    @mutex.synchronize do
      raise "Run already in progress" if @controller&.status == :running

      @controller = RspecAgents::ParallelSpecController.new(
        worker_count: 4,
        fail_fast: false
      )

      @controller.on_event do |type, payload|
        broadcast_to_websockets({ event: type, data: payload })
      end

      @controller.on_progress do |completed, total, failures|
        broadcast_to_websockets({
          event: "progress",
          data: { completed: completed, total: total, failures: failures }
        })
      end

      Async do
        @controller.start(spec_paths)
      end

      { status: "started" }
    end
  end

  # GET /specs/progress
  def get_progress
    return { status: "idle" } unless @controller
    @controller.progress
  end

  # POST /specs/cancel
  def cancel_run
    return { status: "not_running" } unless @controller&.status == :running
    @controller.cancel
    { status: "cancelled" }
  end
end
