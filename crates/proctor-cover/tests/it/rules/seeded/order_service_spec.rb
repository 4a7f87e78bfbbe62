# frozen_string_literal: true

RSpec.describe OrderService do
  subject(:service) { described_class.new(gateway) }

  let(:gateway) { double("gateway", charge: true) } # !24
  let(:placed_at) { Time.now } # !27

  describe "#place" do
    context "when the card is declined" do # !7
      let(:gateway) { instance_double(Gateway, charge: false) }

      it "raises an error" do
        expect { service.place(order) }.to raise_error(OrderService::Declined)
      end
    end

    context "when the card is accepted" do
      it "stores the order" do
        expect(service.place(order)).to be_stored
      end

      it "waits for the confirmation" do
        service.place(order)
        sleep 0.5 # !27
        expect(order).to be_confirmed
      end

      it "can be placed twice" do # !19
        service.place(order)
        expect(service.place(order)).to be_stored
      end
    end
  end

  describe "#total" do
    it "sums up all lines" do
      service.lines.each do |line| # !15
        expect(line.price).to be > 0
      end
    end

    it "handles discounts" do
      if service.discount? # !15
        expect(service.total).to eq(90)
      else
        expect(service.total).to eq(100)
      end
    end

    fit "rounds to cents" do # !28
      expect(service.total).to eq(99.99)
    end
  end

  it "calls the gateway" do
    allow_any_instance_of(Gateway).to receive(:charge).and_return(true) # !22
    service.place(order)
    expect(gateway).to have_received(:charge)
  end
end
