# frozen_string_literal: true

RSpec.describe Payments::Gateway do
  let(:client) { instance_double(Payments::Client, post: response) }
  let(:response) { instance_double(Payments::Response, status: status, body: "{}") }
  let(:gateway) { described_class.new(client) }

  describe "#charge" do
    context "when the provider accepts" do
      let(:status) { 200 }

      it "returns a receipt", :aggregate_failures do
        receipt = gateway.charge(100)
        expect(receipt.amount).to eq(100)
        expect(receipt).to be_paid
      end

      it "posts the amount" do
        gateway.charge(100)
        expect(client).to have_received(:post).with("/charges", amount: 100)
      end
    end

    context "when the provider refuses" do
      let(:status) { 402 }

      it "raises a declined error" do
        expect { gateway.charge(100) }.to raise_error(Payments::Declined)
      end
    end

    context "with a negative amount" do
      let(:status) { 200 }

      it "raises an argument error" do
        expect { gateway.charge(-1) }.to raise_error(ArgumentError)
      end
    end
  end

  it_behaves_like "a gateway" do
    let(:status) { 200 }
  end

  shared_examples "logging" do
    it "writes a line" do
      expect { subject }.to output(/charged/).to_stdout
    end
  end
end
