RSpec.describe Invoice do
  subject(:invoice) { described_class.new(lines) }

  describe "#due_on" do
    context "when overdue" do # !6
      let(:lines) { [Line.new(10)] }
      before { invoice.issue!(Date.new(2024, 1, 1)) }

      it "returns the first of February" do
        expect(invoice.due_on).to eq(Date.new(2024, 2, 1))
      end
    end

    context "when paid" do
      let(:lines) { [Line.new(10)] }
      before { invoice.pay! }

      it "returns nil" do
        expect(invoice.due_on).to be_nil
      end
    end
  end

  describe "#total" do
    let(:lines) { [Line.new(10), Line.new(5)] }

    it "adds all lines" do
      expect(invoice.total).to eq(15)
    end

    it "gives the sum" do # !6
      expect(invoice.total).to eq(15)
    end

    it "Adds taxes" do # !17
      expect(invoice.total(tax: 0.1)).to eq(16.5)
    end

    it "will be zero without lines" do # !19
      expect(described_class.new([]).total).to eq(0)
    end

    it "depends on the day" do
      total = Date.today.sunday? ? 0 : 15 # !15 !27
      expect(invoice.total).to eq(total)
    end
  end

  describe "#send!" do
    let(:lines) { [] }

    it "delivers a letter" do
      expect(invoice).to receive(:deliver)
      invoice.send!
    end

    it "delivers through the subject" do
      expect(subject).to receive(:deliver) # !1
      subject.send!
    end

    it "notifies everybody" do
      observer = spy("observer") # !24
      invoice.add_observer(observer)
      invoice.send!
      expect(observer).to have_received(:update)
    end
  end
end
