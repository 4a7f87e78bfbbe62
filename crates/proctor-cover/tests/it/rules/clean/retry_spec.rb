# frozen_string_literal: true

RSpec.describe Retry do
  let(:clock) { class_double(Process, clock_gettime: 0.0) }
  let(:retrying) { described_class.new(limit: 3, clock: clock) }

  it "returns the result of the block" do
    expect(retrying.call { 42 }).to eq(42)
  end

  it "calls the block again after an error" do
    attempts = [-> { raise IOError }, -> { raise IOError }, -> { :done }]
    expect(retrying.call { attempts.shift.call }).to eq(:done)
  end

  it "gives up after three errors" do
    expect { retrying.call { raise IOError, "gone" } }.to raise_error(IOError, "gone")
  end

  describe "#limit" do
    it { expect(retrying.limit).to eq(3) }
  end

  describe "#wait" do
    before { allow(Time).to receive(:now).and_return(Time.at(0)) }

    it "is measured from now" do
      expect(retrying.deadline).to eq(Time.now + 3)
    end
  end

  describe "logging" do
    let(:logger) { instance_spy(Logger) }

    it "tells about every error" do
      described_class.new(limit: 2, logger: logger, swallow: true).call { raise IOError }
      expect(logger).to have_received(:warn).once
    end
  end
end
