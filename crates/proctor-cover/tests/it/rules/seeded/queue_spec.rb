# frozen_string_literal: true
require_relative "../lib/job_queue"

RSpec.describe JobQueue do
  let(:queue) { JobQueue.new }

  context "pushing" do # !20
    specify "job is appended" do
      queue.push(:a)
      queue.size.should eq(1)
    end

    it "return the queue itself" do # !19
      expect(queue.push(:a)).to be(queue)
    end
  end

  context "popping with no jobs" do # !20
    it "raise an error" do # !19
      expect { queue.pop }.to raise_error(JobQueue::Empty)
    end
  end

  context "popping with jobs" do # !20
    it "gets the oldest one" do
      queue.push(:a)
      queue.push(:b)
      expect(queue.pop).to eq(:a)
    end
  end

  it "keeps the order" do
    jobs = [1, 2, 3]
    while (job = jobs.shift) # !15
      queue.push(job)
    end
    expect(queue.to_a).to eq([1, 2, 3])
  end

  it "never blocks" do
    result = queue.pop rescue nil # !15
    expect(result).to be_nil
  end

  it "is drained in a thread" do
    thread = Thread.new { queue.drain }
    Kernel.sleep(0.1) # !27
    expect(thread).not_to be_alive
  end

  it "expects something" do
    expect(queue) # !2
  end

  it "is shuffled" do
    expect([1, 2, 3].shuffle.size).to eq(3) # !27
  end

  fcontext "when closed" do # !28
    it "rejects jobs" do
      queue.close
      expect { queue.push(1) }.to raise_error(JobQueue::Closed)
    end
  end
end
